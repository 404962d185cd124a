//! The shop's products.

pub(super) struct Product {
    pub(super) slug: &'static str,
    pub(super) name: &'static str,
    pub(super) group: &'static str,
    pub(super) cents: u32,
    pub(super) about: &'static str,
    pub(super) made_of: &'static str,
    /// A constant SVG, inserted unescaped.
    pub(super) picture: &'static str,
}

pub(super) const PRODUCTS: &[Product] = &[
    Product {
        slug: "watering-can",
        name: "Copper watering can",
        group: "Garden",
        cents: 6400,
        about: "A long spout reaches the back of the bench without drowning the seedlings in front. Holds 1.5 litres.",
        made_of: "Copper, brass rose",
        picture: include_str!("pictures/watering-can.svg"),
    },
    Product {
        slug: "stoneware-mug",
        name: "Stoneware mug",
        group: "Kitchen",
        cents: 1850,
        about: "Thrown by hand, glazed in sea green, heavy enough to keep its tea warm.",
        made_of: "Stoneware, lead-free glaze",
        picture: include_str!("pictures/stoneware-mug.svg"),
    },
    Product {
        slug: "oak-board",
        name: "Oak cutting board",
        group: "Kitchen",
        cents: 3900,
        about: "One piece of oak, oiled three times. The groove keeps juice off the table.",
        made_of: "European oak, linseed oil",
        picture: include_str!("pictures/oak-board.svg"),
    },
    Product {
        slug: "beeswax-candles",
        name: "Beeswax candles, pair",
        group: "House",
        cents: 1400,
        about: "Two dipped candles that burn for nine hours each and smell of honey.",
        made_of: "Beeswax, cotton wick",
        picture: include_str!("pictures/beeswax-candles.svg"),
    },
    Product {
        slug: "hand-trowel",
        name: "Hand trowel",
        group: "Garden",
        cents: 2250,
        about: "Forged in one piece, with a blade narrow enough for bulbs and an ash handle.",
        made_of: "Carbon steel, ash",
        picture: include_str!("pictures/hand-trowel.svg"),
    },
    Product {
        slug: "seed-box",
        name: "Seed box with twelve drawers",
        group: "Garden",
        cents: 5800,
        about: "Twelve labelled drawers, one for each month, with a lid that keeps the mice out.",
        made_of: "Birch, brass pulls",
        picture: include_str!("pictures/seed-box.svg"),
    },
    Product {
        slug: "iron-pan",
        name: "Cast-iron pan, 26 cm",
        group: "Kitchen",
        cents: 7200,
        about: "Seasoned and ready. It will outlive the stove, and the next one.",
        made_of: "Cast iron",
        picture: include_str!("pictures/iron-pan.svg"),
    },
    Product {
        slug: "wool-blanket",
        name: "Wool blanket",
        group: "House",
        cents: 11900,
        about: "Woven from the wool of one valley's sheep. 140 by 200 cm, with a fringe.",
        made_of: "Pure new wool",
        picture: include_str!("pictures/wool-blanket.svg"),
    },
];

pub(super) fn find(slug: &str) -> Option<&'static Product> {
    PRODUCTS.iter().find(|product| product.slug == slug)
}

/// Products whose name, group or description contains every word of the query.
pub(super) fn search(query: &str) -> Vec<&'static Product> {
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    let matches = |product: &&Product| {
        let text = format!("{} {} {}", product.name, product.group, product.about).to_lowercase();
        words.iter().all(|word| text.contains(word))
    };
    PRODUCTS.iter().filter(matches).collect()
}
