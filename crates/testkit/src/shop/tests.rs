//! The shop over a real connection.

use super::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

struct Shop {
    address: std::net::SocketAddr,
    _task: JoinSet<()>,
}

struct HttpResponse {
    status: u16,
    head: String,
    body: String,
}

impl Shop {
    async fn open() -> Shop {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut task = JoinSet::new();
        task.spawn(async move { serve(listener).await.unwrap() });
        Shop { address, _task: task }
    }

    async fn get(&self, path: &str) -> HttpResponse {
        self.say(&format!("GET {path} HTTP/1.1\r\nHost: shop.test\r\nConnection: close\r\n\r\n")).await
    }

    async fn post(&self, path: &str, cookie: &str, form: &str) -> HttpResponse {
        self.say(&format!(
            "POST {path} HTTP/1.1\r\nHost: shop.test\r\nConnection: close\r\nCookie: {cookie}\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{form}",
            form.len()
        ))
        .await
    }

    /// The cookie of a visitor who signed in.
    async fn sign_in(&self) -> String {
        let answer = self.post("/login", "", &format!("email={EMAIL}&password={PASSWORD}")).await;
        assert_eq!((answer.status, answer.header("location")), (303, Some("/account")));
        answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned()
    }

    async fn say(&self, request: &str) -> HttpResponse {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        HttpResponse { status, head: head.to_owned(), body: body.to_owned() }
    }
}

impl HttpResponse {
    fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    }

    fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

const ORDER: &str = "product=iron-pan&quantity=2&name=Ada&address=1+Mill+Lane&delivery=express&gift_wrap=yes";

#[tokio::test]
async fn every_page_answers_and_loads_nothing_from_elsewhere() {
    let shop = Shop::open().await;
    for (path, title) in [
        ("/", "Good things for house and garden"),
        ("/search?q=oak", "Search"),
        ("/product/stoneware-mug", "Stoneware mug"),
        ("/stock", "Stock"),
        ("/quote", "Delivery quote"),
        ("/dialogs", "Dialogs"),
        ("/order", "Your order"),
        ("/login", "Sign in"),
        ("/account", "Your account"),
    ] {
        let answer = shop.get(path).await;
        assert_eq!(answer.status, 200, "{path}");
        assert!(answer.body.contains(&format!("<title>{title}")), "{path}");
        assert!(!answer.body.contains("src=\"http") && !answer.body.contains("href=\"http"), "{path}");
        assert!(answer.header("content-security-policy").unwrap().starts_with("default-src 'self';"));
    }
    assert_eq!(shop.get("/healthz").await.body, "ok\n");
    assert_eq!(shop.get("/nowhere").await.status, 404);
    assert_eq!(shop.get("/product/nothing").await.status, 404);
}

#[tokio::test]
async fn the_search_finds_by_every_word_and_shows_the_query_as_text() {
    let shop = Shop::open().await;
    for (query, said) in [
        ("garden", "3 things were found"),
        ("GARDEN+copper", "1 thing was found"),
        ("no-such-thing", "Nothing was found"),
        ("", "8 things were found"),
    ] {
        let body = shop.get(&format!("/search?q={query}")).await.body;
        assert!(body.contains(said), "{query}: {body}");
    }
    let body = shop.get("/search?q=%3Cscript%3Ealert(1)%3C/script%3E%22%27%26").await.body;
    assert!(!body.contains("<script>alert"));
    assert_eq!(body.matches("&lt;script&gt;alert(1)&lt;/script&gt;&quot;'&amp;").count(), 2);
}

#[tokio::test]
async fn the_stock_list_has_a_thousand_rows() {
    let body = Shop::open().await.get("/stock").await.body;
    assert_eq!(body.matches("<tr><td>").count(), 1000);
}

#[tokio::test]
async fn the_quote_frame_comes_from_the_host_that_the_address_names() {
    let shop = Shop::open().await;
    for (query, source) in [
        ("", r#"<iframe src="/quote""#),
        ("?frame=post.test", r#"<iframe src="http://post.test/quote""#),
        ("?frame=post.test:8080", r#"<iframe src="http://post.test:8080/quote""#),
        ("?frame=x%22onload=%22alert(1)", r#"<iframe src="/quote""#),
        ("?frame=a/b", r#"<iframe src="/quote""#),
        ("?frame=u@a", r#"<iframe src="/quote""#),
    ] {
        let body = shop.get(&format!("/product/iron-pan{query}")).await.body;
        assert!(body.contains(source), "{query}");
    }
    assert!(shop.get("/quote?country=Portugal").await.body.contains("Delivery to Portugal costs €7.90."));
}

#[tokio::test]
async fn an_order_is_kept_and_shown() {
    let shop = Shop::open().await;
    assert_eq!(shop.get("/api/orders").await.json(), serde_json::json!([]));
    let placed = shop.post("/order", "", ORDER).await;
    assert_eq!((placed.status, placed.header("location")), (303, Some("/order/1001")));
    let expected = serde_json::json!([{
        "number": 1001, "product": "iron-pan", "quantity": 2, "name": "Ada", "address": "1 Mill Lane",
        "delivery": "express", "gift_wrap": true,
    }]);
    assert_eq!(shop.get("/api/orders").await.json(), expected);
    let thanks = shop.get("/order/1001").await.body;
    assert!(thanks.contains("Order 1001 is placed.") && thanks.contains("€144.00"), "{thanks}");
    assert_eq!(shop.get("/order/1002").await.status, 404);
}

#[tokio::test]
async fn a_bad_order_is_shown_again_with_the_fault_and_is_not_kept() {
    let shop = Shop::open().await;
    for (change, fault) in [
        ("product=iron-pan", "Choose a product."),
        ("quantity=2", "Choose a quantity"),
        ("name=Ada", "Tell us your name"),
        ("address=1+Mill+Lane", "Tell us your address"),
        ("delivery=express", "Choose a delivery."),
    ] {
        let (field, _) = change.split_once('=').unwrap();
        let answer = shop.post("/order", "", &ORDER.replace(change, &format!("{field}="))).await;
        assert_eq!(answer.status, 422, "{change}");
        assert!(answer.body.contains(fault), "{change}");
    }
    for quantity in ["0", "21", "-1", "many"] {
        let order = ORDER.replace("quantity=2", &format!("quantity={quantity}"));
        assert_eq!(shop.post("/order", "", &order).await.status, 422, "{quantity}");
    }
    let hostile = ORDER.replace("Ada", "%3Cb%3E%22").replace("quantity=2", "quantity=%3Ci%3E");
    let body = shop.post("/order", "", &hostile).await.body;
    assert!(
        body.contains("&lt;b&gt;&quot;") && body.contains("&lt;i&gt;") && !body.contains("<i>"),
        "{body}"
    );
    let too_large = format!("{ORDER}{}", "x".repeat(MAX_FORM_BYTES));
    assert_eq!(shop.post("/order", "", &too_large).await.status, 413);
    assert_eq!(shop.get("/api/orders").await.json(), serde_json::json!([]));
}

#[tokio::test]
async fn only_the_newest_hundred_orders_are_kept() {
    let shop = Shop::open().await;
    for _ in 0..103 {
        shop.post("/order", "", ORDER).await;
    }
    let orders = shop.get("/api/orders").await.json();
    let numbers: Vec<u64> =
        orders.as_array().unwrap().iter().map(|order| order["number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1004..=1103).collect::<Vec<u64>>());
}

#[tokio::test]
async fn only_the_right_password_signs_in_and_signing_out_ends_it() {
    let shop = Shop::open().await;
    for form in
        ["", "email=mara@shop.test", "email=mara@shop.test&password=wrong", "password=orchard-in-june"]
    {
        let answer = shop.post("/login", "", form).await;
        assert_eq!((answer.status, answer.header("set-cookie")), (401, None), "{form}");
    }
    let signed_in = |cookie: String| {
        let shop = &shop;
        async move {
            let request = "GET /api/account HTTP/1.1\r\nHost: a\r\nConnection: close\r\nCookie: ";
            shop.say(&format!("{request}a=b; {cookie}\r\n\r\n")).await.json()["signed_in"].clone()
        }
    };
    let cookie = shop.sign_in().await;
    assert_eq!(signed_in(cookie.clone()).await, true);
    assert_eq!(signed_in("shop_session=guess".to_owned()).await, false);
    shop.post("/logout", &cookie, "").await;
    assert_eq!(signed_in(cookie).await, false);
}

#[tokio::test]
async fn deleting_the_account_takes_a_signed_in_visitor_and_can_be_seen() {
    let shop = Shop::open().await;
    let answer = shop.post("/account/delete", "shop_session=guess", "").await;
    assert_eq!(answer.header("location"), Some("/login"));
    assert_eq!(shop.get("/api/account").await.json()["exists"], true);

    let cookie = shop.sign_in().await;
    shop.post("/account/delete", &cookie, "").await;
    assert_eq!(shop.get("/api/account").await.json()["exists"], false);
    assert!(shop.get("/account").await.body.contains("The account was deleted."));
    let form = format!("email={EMAIL}&password={PASSWORD}");
    assert_eq!(shop.post("/login", "", &form).await.status, 401);

    shop.post("/account/restore", "", "").await;
    shop.sign_in().await;
}
