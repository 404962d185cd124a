//! Refs are stable while their element lives, are never reused, and dead ones say what became of them.

use crate::support::{Driver, plain, reference, text_of, wait_for_text};
use browser::Outcome;
use policy::{Action, Click, Part, Read, Target, TokenBudget};
use std::collections::{HashMap, HashSet};

const MUTATIONS: usize = 1_000;

/// Elements are named by unique numbers; the page itself tracks which of them live.
const CHURN: &str = "<!doctype html><title>Churn</title><body><div id=a></div><div id=b></div><div id=c></div>
<div id=host></div><script>
  const root = host.attachShadow({ mode: 'open' });
  root.innerHTML = '<section></section><slot></slot>';
  const holders = [a, b, c, root.querySelector('section'), host];
  let last = 0;
  const limbo = [];
  const KINDS = ['button', 'a', 'input', 'div', 'select'];
  const make = (random) => {
    const el = document.createElement(KINDS[random(KINDS.length)]);
    last += 1;
    el.setAttribute('aria-label', 'n' + last + '.');
    if (el.localName === 'a') el.href = '#x';
    if (el.localName === 'div') { el.tabIndex = 0; el.textContent = 'box'; }
    return el;
  };
  const children = () => holders.flatMap((holder) => Array.from(holder.children)).filter((el) => el.ariaLabel);
  const anyPlace = (holder, random) => holder.childNodes[random(holder.childNodes.length + 1)] ?? null;
  const mutate = (seed, count) => {
    const random = (below) => {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
      return Math.floor((seed / 2 ** 32) * below);
    };
    for (let n = 0; n < count; n += 1) {
      const all = children();
      const el = all[random(all.length)];
      const holder = holders[random(holders.length)];
      switch (all.length < 300 ? random(2) * random(11) : random(14)) {
        case 0: case 1: holder.insertBefore(make(random), anyPlace(holder, random)); break;
        case 2: el.remove(); break;
        case 3: el.parentNode.insertBefore(el, anyPlace(el.parentNode, random)); break;
        case 4: case 11: case 12: case 13: holder.insertBefore(el, anyPlace(holder, random)); break;
        case 5: el.replaceWith(make(random)); break;
        case 6: if (random(30) === 0) { const html = holder.innerHTML; holder.innerHTML = ''; if (holder !== host) holder.innerHTML = html; } break;
        case 7: el.className = 'k' + random(9); el.title = 't' + random(9); break;
        case 8: if (el.localName !== 'input' && el.localName !== 'select') el.append('x'); break;
        case 9: limbo.push(el); el.remove(); break;
        case 10: if (limbo.length) holder.insertBefore(limbo.splice(random(limbo.length), 1)[0], null); break;
      }
    }
    while (limbo.length) a.append(limbo.pop());
    // An element that was rebuilt from HTML has the name of the one it replaced, and must not have its ref.
    return children().map((el) => ({ name: el.ariaLabel, id: idOf(el) }));
  };
  const ids = new WeakMap();
  let lastId = 0;
  const idOf = (el) => { if (!ids.has(el)) ids.set(el, ++lastId); return ids.get(el); };
  for (let n = 0; n < 200; n += 1) holders[n % holders.length].append(make((below) => n % below));
  const living = () => children().map((el) => ({ name: el.ariaLabel, id: idOf(el) }));
</script>";

/// Refs of all named elements, in page order.
async fn refs(driver: &Driver) -> Vec<(String, String)> {
    let read = Read { tokens: TokenBudget::new(TokenBudget::MAX).unwrap(), ..Read::default() };
    let outline = match driver.act(Action::Read(read)).await.unwrap() {
        Outcome::Read(snapshot) => text_of(&snapshot),
        other => panic!("{other:?}"),
    };
    let lines = outline.lines().filter(|line| line.contains("[ref=") && line.contains("\"n"));
    lines
        .map(|line| {
            let name = line.split('"').nth(1).unwrap().to_owned();
            let Target::Ref(text) = reference(line, "ref") else { panic!("{line}") };
            (name, text)
        })
        .collect()
}

/// The page's own list, sorted by name like ours: `(name, identity)`.
fn living_elements(living: &serde_json::Value) -> Vec<(String, u64)> {
    let entries = living.as_array().unwrap_or_else(|| panic!("{living}")).iter();
    let mut elements: Vec<_> = entries
        .map(|entry| (entry["name"].as_str().unwrap().to_owned(), entry["id"].as_u64().unwrap()))
        .collect();
    elements.sort();
    elements
}

/// The ref of each living element, by identity; names are unique at any one time.
async fn by_identity(driver: &Driver, living: &serde_json::Value) -> HashMap<u64, String> {
    let mut seen = refs(driver).await;
    seen.sort();
    let elements = living_elements(living);
    let names = |list: Vec<&String>| list.into_iter().cloned().collect::<Vec<_>>();
    assert_eq!(
        names(seen.iter().map(|(name, _)| name).collect()),
        names(elements.iter().map(|(name, _)| name).collect()),
        "every living element is listed once"
    );
    elements.into_iter().zip(seen).map(|((_, id), (_, text))| (id, text)).collect()
}

#[tokio::test]
async fn refs_live_and_die_with_their_elements_through_a_thousand_mutations() {
    let driver = Driver::with(&[("shop.test/", CHURN)]).await;
    for seed in [1_u32, 20_260_728, 0xdead_beef] {
        println!("seed {seed}");
        driver.goto("http://shop.test/").await;
        let before = by_identity(&driver, &driver.run_in_page("living()").await).await;
        let living = driver.run_in_page(&format!("mutate({seed}, {MUTATIONS})")).await;
        let after = by_identity(&driver, &living).await;
        let (mut lived, mut died) = (0, 0);
        for (id, text) in &before {
            match after.get(id) {
                Some(now) => {
                    assert_eq!(now, text, "seed {seed}: an element that lives keeps its ref");
                    lived += 1;
                }
                None => {
                    let click = Action::Click(Click::on(Target::Ref(text.clone())));
                    let error = driver.browser.resolve(&click).await.unwrap_err();
                    assert_eq!(error.code().to_string(), "stale_ref", "seed {seed}: {error}");
                    assert!(plain(&error).contains("was removed from the page"), "{error}");
                    died += 1;
                }
            }
        }
        assert!(lived > 5 && died > 5, "seed {seed}: {lived} lived, {died} died");
        let given: HashSet<&String> = before.values().chain(after.values()).collect();
        assert_eq!(given.len(), before.len() + after.len() - lived, "seed {seed}: a ref was given twice");
    }
}

const SHOP: &str = "<title>Shop</title><body>
  <button id=pay>Pay</button><button id=twin>Other</button><div tabindex=0 id=box>box</div>
  <iframe id=inner src=/inner></iframe>";

/// The error of a click on an earlier ref after the page did something.
async fn stale_ref_error(script: &str, part: &str) -> String {
    let pages = [
        ("shop.test/", SHOP),
        ("shop.test/inner", "<button>Inner</button>"),
        ("shop.test/next", "<h1>arrived</h1>"),
    ];
    let driver = Driver::with(&pages).await;
    let outline = driver.goto("http://shop.test/").await;
    driver.run_in_page(script).await;
    if script.contains("/next") {
        driver.act(wait_for_text("arrived")).await.unwrap();
    }
    let target = if part == "never" { Target::Ref("e4711".into()) } else { reference(&outline, part) };
    let error = driver.click(target).await.unwrap_err();
    assert_eq!(error.code().to_string(), "stale_ref", "{script}: {error}");
    browser::mark_page_text(&error.to_string(), "", "")
}

#[tokio::test]
async fn a_dead_ref_says_what_became_of_it() {
    for (script, part, expected) in [
        ("1", "never", "the ref e4711 was never issued"),
        ("pay.remove()", "\"Pay\"", "e1 (button \"Pay\") was removed from the page"),
        (
            "document.body.innerHTML = document.body.innerHTML",
            "\"Pay\"",
            "e1 (button \"Pay\") was removed from the page; a similar element now has the ref e4",
        ),
        (
            "twin.textContent = 'Pay'; pay.replaceWith(twin.cloneNode(true))",
            "\"Pay\"",
            "e1 (button \"Pay\") was removed from the page",
        ),
        (
            "inner.contentDocument.body.append(pay)",
            "\"Pay\"",
            "e1 (button \"Pay\") was moved into another frame",
        ),
        ("inner.remove()", "\"Inner\"", "f2e1 (http://shop.test/inner) was in a frame that is gone"),
        (
            "inner.src = '/next'",
            "\"Inner\"",
            "f2e1 (http://shop.test/inner) was in a frame that shows another page now",
        ),
        (
            "location = '/next'; 1",
            "\"Inner\"",
            "f2e1 (http://shop.test/inner) was on a page that the tab has left",
        ),
        ("location = '/next'; 1", "\"Pay\"", "e1 (http://shop.test/) was on a page that the tab has left"),
    ] {
        assert_eq!(stale_ref_error(script, part).await, expected, "{script}");
    }
}

#[tokio::test]
async fn a_root_ref_that_is_not_in_the_snapshot_is_not_called_stale() {
    let driver = Driver::with(&[("shop.test/", SHOP)]).await;
    let outline = driver.goto("http://shop.test/").await;
    let Target::Ref(pay) = reference(&outline, "\"Pay\"") else { panic!("{outline}") };
    let Target::Ref(boxed) = reference(&outline, "\"box\"") else { panic!("{outline}") };
    let root = |text: &str| Action::Read(Read { part: Part::Root(text.to_owned()), ..Read::default() });
    driver.run_in_page("pay.style.display = 'none'; box.removeAttribute('tabindex')").await;
    let error = driver.act(root(&pay)).await.unwrap_err();
    assert_eq!(
        (error.code().name(), browser::mark_page_text(&error.to_string(), "", "")),
        ("element_not_visible", format!("{pay} is not visible"))
    );
    let error = driver.act(root(&boxed)).await.unwrap_err();
    assert_eq!(plain(&error), format!("{boxed} is still on the page, but is no longer actionable"));
    driver.run_in_page("pay.style.display = ''").await;
    assert!(driver.act(root(&pay)).await.is_ok(), "the ref is as good as before");
}
