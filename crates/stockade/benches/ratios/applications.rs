//! Six pages as applications have them: an admin list, an admin template, a data grid, a rich-text editor, a dashboard of
//! charts, a calendar. Styled as such pages are, with the elements that their libraries make.

const RESET: &str = "* { box-sizing: border-box } body { margin: 0; font: 14px/1.4 sans-serif; color: #222 } a { color: #06c; text-decoration: none }
    .sr-only { position: absolute; width: 1px; height: 1px; clip-path: inset(50%); overflow: hidden } button { cursor: pointer }";

pub fn pages() -> Vec<(&'static str, String)> {
    vec![
        ("/admin-list", page("Orders", ADMIN_STYLE, &admin_list(400))),
        ("/admin-template", page("Overview", TEMPLATE_STYLE, &admin_template(60))),
        ("/grid", page("Stock", GRID_STYLE, &grid(2_000))),
        ("/editor", page("Report", EDITOR_STYLE, &editor(250))),
        ("/charts", page("Traffic", CHART_STYLE, &charts(12, 120))),
        ("/calendar", page("Calendar", CALENDAR_STYLE, &calendar(12))),
    ]
}

fn page(title: &str, style: &str, body: &str) -> String {
    format!("<!doctype html><title>{title}</title><style>{RESET}{style}</style>{body}")
}

fn each(count: usize, one: impl Fn(usize) -> String) -> String {
    (0..count).map(one).collect()
}

const ADMIN_STYLE: &str = "#header { position: sticky; top: 0; background: #417690; color: #fff; padding: 10px 40px; z-index: 3 }
    .main { display: flex } #nav { flex: 0 0 275px; border-right: 1px solid #ddd; overflow: auto } .module { margin: 8px; background: #fff }
    table { border-collapse: collapse } thead th { position: sticky; top: 40px; background: #f6f6f6; text-transform: uppercase }
    tbody tr:nth-child(odd) { background: #f8f8f8 } td, th { padding: 8px; border-bottom: 1px solid #eee } .addlink::before { content: '+ ' }
    .help:empty { display: none } tr.selected td { background: #ffc } #filter { position: relative; flex: 0 0 240px }";

fn admin_list(rows: usize) -> String {
    let models = each(24, |n| {
        format!(
            "<tr class='model-{n}'><th scope=row><a href='/m/{n}'>Model {n}</a></th><td><a class=addlink href='/m/{n}/add'>Add</a></td></tr>"
        )
    });
    let row = |n: usize| {
        format!(
            "<tr><td class=action-checkbox><input type=checkbox class=action-select aria-label='Select order {n}'></td>
             <th class=field-number><a href='/o/{n}'>Order {n}</a></th><td class='field-date nowrap'>2026-03-{:02}</td>
             <td class=field-customer>Customer {}</td><td class=field-paid><span class=icon-yes title=Yes>✓</span></td><td>{}.00</td></tr>",
            n % 28 + 1,
            n % 97,
            n * 13
        )
    };
    format!(
        "<div id=header><h1>Administration</h1><div class=user-tools>Welcome, <strong>admin</strong>. <a href=/out>Log out</a></div></div>
         <div class=main><nav id=nav><table class=module><caption>Shop</caption><tbody>{models}</tbody></table></nav>
         <main><h2>Select an order</h2><form class=search><input type=search aria-label=Search><button>Search</button></form>
         <table id=result><thead><tr><th><input type=checkbox aria-label=All></th><th><a href='?o=1'>Number</a></th><th>Date</th><th>Customer</th><th>Paid</th><th>Sum</th></tr></thead>
         <tbody>{}</tbody></table></main><aside id=filter><h3>Filter</h3><ul>{}</ul></aside></div>",
        each(rows, row),
        each(30, |n| format!("<li><a href='?f={n}'>Choice {n}</a></li>"))
    )
}

const TEMPLATE_STYLE: &str = ".wrapper { display: grid; grid-template-columns: 250px 1fr } .sidebar { grid-column: 1; background: #343a40; color: #fff; position: sticky; top: 0; height: 100vh; overflow-y: auto }
    .sidebar a { color: #c2c7d0; display: block; padding: 6px 12px } .content { grid-column: 2; padding: 16px } .row { display: flex; flex-wrap: wrap; margin: 0 -8px }
    .col { flex: 1 1 240px; padding: 8px } .card { position: relative; background: #fff; border-radius: 4px; box-shadow: 0 0 1px rgba(0,0,0,.2); overflow: hidden }
    .card-header { background: rgba(0,0,0,.03); border-bottom: 1px solid rgba(0,0,0,.1) } .badge { position: absolute; right: 8px; top: 4px; background: #dc3545; color: #fff }
    .fa::before { font-family: icons; content: '\\f013' } .progress > div { background: #17a2b8; height: 8px } .dropdown-menu { display: none; position: absolute } .show { display: block }";

fn admin_template(cards: usize) -> String {
    let menu = each(40, |n| {
        format!(
            "<li class=nav-item><a href='/p/{n}' class=nav-link><i class='fa fa-cog'></i><p>Page {n}</p></a></li>"
        )
    });
    let card = |n: usize| {
        let lines = each(8, |line| {
            format!(
                "<li class=item><a href='/i/{n}/{line}'>Item {line}</a><span class=text-muted>{} sold</span><div class=progress><div style='width:{}%'></div></div></li>",
                n * line,
                line * 12
            )
        });
        format!(
            "<div class=col><div class=card><div class=card-header><h3 class=card-title>Card {n}</h3><span class=badge>{n}</span>
             <button class='btn btn-tool' aria-label='Collapse {n}'><i class='fa fa-minus'></i></button><ul class=dropdown-menu><li><a href=#>Hidden {n}</a></li></ul></div>
             <div class=card-body><p>Some words about the state of things in section {n}.</p><ul class=list>{lines}</ul></div></div></div>"
        )
    };
    format!(
        "<div class=wrapper><aside class=sidebar><ul class=nav>{menu}</ul></aside><div class=content><h1>Overview</h1><div class=row>{}</div></div></div>",
        each(cards, card)
    )
}

const GRID_STYLE: &str = ".grid { position: relative; height: 600px; overflow: auto; border: 1px solid #bbb } .head, .line { display: flex } .head { position: sticky; top: 0; z-index: 2; background: #f2f2f2 }
    .line:nth-child(even) { background: #fafafa } .line:hover { background: #eef } .cell { flex: 0 0 120px; padding: 4px; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; border-right: 1px solid #eee }
    .cell.number { text-align: right } .cell.pinned { position: sticky; left: 0; background: #fff; z-index: 1 } .sort { cursor: pointer }";

fn grid(rows: usize) -> String {
    let row = |n: usize| {
        let cells = each(7, |cell| {
            format!(
                "<div class='cell number' role=gridcell aria-colindex={}>{}</div>",
                cell + 2,
                n * 7 + cell
            )
        });
        format!(
            "<div class=line role=row aria-rowindex={}><div class='cell pinned' role=gridcell tabindex=-1>Article {n}</div>{cells}</div>",
            n + 2
        )
    };
    let heads = each(8, |n| format!("<div class='cell sort' role=columnheader tabindex=0>Column {n}</div>"));
    format!(
        "<main><h1>Stock</h1><div class=grid role=grid aria-label=Stock><div class=head role=row>{heads}</div>{}</div></main>",
        each(rows, row)
    )
}

const EDITOR_STYLE: &str = ".toolbar { position: sticky; top: 0; background: #fff; border-bottom: 1px solid #ccc; z-index: 5 } .toolbar button { border: 0; background: none; padding: 6px }
    .icon::before { content: attr(data-icon); } .paper { max-width: 800px; margin: 0 auto; background: #fff; box-shadow: 0 1px 4px #aaa; padding: 40px; position: relative } .paper p { margin: 0 0 1em } mark { background: #ff8 }
    .comment { position: absolute; right: -200px; width: 180px; background: #fffbe6 }";

fn editor(paragraphs: usize) -> String {
    let tools = each(40, |n| {
        format!("<button title='Tool {n}' aria-pressed=false><span class=icon data-icon='◧'></span></button>")
    });
    let paragraph = |n: usize| {
        let heading =
            if n.is_multiple_of(10) { format!("<h2>Chapter {}</h2>", n / 10) } else { String::new() };
        format!(
            "{heading}<p>In <b>part {n}</b> there are <i>some words</i> with <a href='/{n}'>a link</a>, a <mark>mark</mark> and a longer <span style='color:#{:06x}'>coloured</span> end of the sentence.</p>",
            n * 321 % 0x80_0000
        )
    };
    let comments = each(20, |n| {
        format!(
            "<div class=comment style='top:{}px'><strong>Reader {n}</strong><p>Is this so?</p><button>Resolve</button></div>",
            n * 300
        )
    });
    format!(
        "<div class=toolbar role=toolbar aria-label=Format>{tools}</div><main class=paper><div contenteditable=true role=textbox aria-multiline=true aria-label=Text>{}</div>{comments}</main>",
        each(paragraphs, paragraph)
    )
}

const CHART_STYLE: &str = ".board { display: grid; grid-template-columns: repeat(3, 1fr); gap: 12px } .panel { border: 1px solid #ddd; position: relative } .axis text { font-size: 10px; fill: #666 } .bar { fill: #4e79a7 } .bar:hover { fill: #f28e2b }
    .tooltip { position: absolute; visibility: hidden; background: #000; color: #fff } .legend span::before { content: '■ '; color: #4e79a7 }";

fn charts(panels: usize, bars: usize) -> String {
    let panel = |n: usize| {
        let bar = |at: usize| {
            format!(
                "<rect class=bar x={} y={} width=2 height={}></rect>",
                at * 3,
                100 - (at * n) % 90,
                (at * n) % 90
            )
        };
        let ticks = each(12, |at| {
            format!(
                "<g class=tick transform='translate({},110)'><line y2=4></line><text>{at}h</text></g>",
                at * 30
            )
        });
        format!(
            "<section class=panel aria-label='Panel {n}'><h2>Requests of service {n}</h2><div class=legend><span>ok</span> <span>failed</span></div>
             <svg viewBox='0 0 400 130' role=img aria-label='Requests per minute {n}'><g>{}</g><g class=axis>{ticks}</g></svg><div class=tooltip>Nothing</div>
             <table><tbody>{}</tbody></table></section>",
            each(bars, bar),
            each(10, |row| format!("<tr><td>host-{row}</td><td>{}</td><td><a href='/h/{n}/{row}'>Details</a></td></tr>", row * n))
        )
    };
    format!("<main><h1>Traffic</h1><div class=board>{}</div></main>", each(panels, panel))
}

const CALENDAR_STYLE: &str = ".month { display: grid; grid-template-columns: repeat(7, 1fr); border-top: 1px solid #ddd } .day { position: relative; min-height: 90px; border: 1px solid #eee } .day.other { opacity: .4 } .number { position: absolute; top: 2px; right: 4px }
    .event { display: block; margin: 2px; padding: 0 4px; background: #3788d8; color: #fff; border-radius: 3px; overflow: hidden; white-space: nowrap; cursor: pointer } .event.late { background: #b00 } .more { color: #06c; cursor: pointer } nav button::after { content: ' ›' }";

fn calendar(months: usize) -> String {
    let day = |month: usize, day: usize| {
        let events = each((month + day) % 4, |n| {
            format!(
                "<a class='event{}' tabindex=0 title='Meeting {n}'><span class=time>{}:00</span> <span class=title>Meeting {n} of {day}</span></a>",
                if n == 2 { " late" } else { "" },
                8 + n
            )
        });
        let other = if day > 30 { " other" } else { "" };
        format!(
            "<div class='day{other}' role=gridcell aria-label='Day {day}'><a class=number>{day}</a><div class=events>{events}</div><span class=more onclick='more()'>+ more</span></div>"
        )
    };
    let month = |at: usize| {
        format!(
            "<section><h2>Month {}</h2><div class=month role=grid aria-label='Month {0}'>{}</div></section>",
            at + 1,
            each(35, |n| day(at, n + 1))
        )
    };
    format!(
        "<main><h1>Calendar</h1><nav><button>Today</button><button>Next</button></nav>{}</main>",
        each(months, month)
    )
}
