//! The built-in rules: name, risk and description.

use crate::Risk;

#[derive(Debug, PartialEq, Eq)]
pub struct BuiltinRule {
    pub name: &'static str,
    pub risk: Risk,
    pub description: &'static str,
}

macro_rules! rules {
    ($($id:ident = $name:literal, $risk:ident, $description:literal;)*) => {
        $(pub static $id: BuiltinRule = BuiltinRule { name: $name, risk: Risk::$risk, description: $description };)*
        /// All rules, in the order of the documentation.
        pub static ALL: &[&BuiltinRule] = &[$(&$id),*];
    };
}

rules! {
    LOOK = "look", Low, "only views the page";
    BLOCKED = "domain.blocked", High, "leads to a domain that is not on the allowlist, or not of this session's sites";

    NAVIGATE_SAME = "navigate.same-domain", Low, "stays on the domain of the page";
    NAVIGATE_NEW = "navigate.new-domain", Medium, "goes to another domain";
    NAVIGATE_NAME = "navigate.sensitive-name", Medium, "goes to a host called mail, admin or settings";
    NAVIGATE_SENSITIVE = "navigate.sensitive-domain", High, "goes to a sensitive domain";

    RELOAD_POSTS = "reload.posts", High, "sends a form again";

    CLICK_FIELD = "click.field", Low, "puts the cursor into a field";
    CLICK_GO = "click.navigation", Low, "navigates";
    CLICK_LINK = "click.link", Low, "follows a link on the same domain";
    CLICK_SEARCH = "click.search", Low, "searches";
    CLICK_LINK_NEW = "click.link-new-domain", Medium, "follows a link to another domain";
    CLICK_LINK_SENSITIVE = "click.link-sensitive-domain", High, "follows a link to a sensitive domain";
    CLICK_SAVE = "click.save", Medium, "saves a change";
    CLICK_CHANGE = "click.change", Medium, "changes a selection";
    CLICK_OTHER = "click.other", Medium, "clicks something whose effect is not known";

    FORM_SUBMIT = "form.submit", Medium, "submits a form";
    FORM_ELSEWHERE = "form.other-domain", High, "submits a form to another domain";
    FORM_DESTROYS = "form.destroys", High, "goes to an address that deletes something";
    FORM_POWER = "form.power", Critical, "submits a form to an address that grants access";
    FORM_PAYS = "form.pays", Critical, "submits a form that pays";

    WORDS_DESTROY = "words.destroy", High, "deletes something";
    WORDS_SEND = "words.send", High, "sends something to other people";
    WORDS_PAY = "words.pay", Critical, "moves money";
    WORDS_ACCOUNT = "words.account", Critical, "deletes an account, project or database";
    WORDS_MINT = "words.mint", Critical, "creates or adds a key or token";
    WORDS_AUTHORISE = "words.authorise", Critical, "authorizes another application";
    WORDS_ADMIN = "words.admin", Critical, "grants administrator rights";
    WORDS_LOGIN = "words.login", Critical, "changes the login of the account";
    WORDS_SECOND_FACTOR = "words.second-factor", Critical, "turns off a protection, such as two-factor authentication";
    WORDS_EXPORT = "words.export", Critical, "exports data";

    TYPE_SEARCH = "type.search", Low, "types into a search box";
    TYPE_COMMENT = "type.comment", Low, "types into a comment field";
    TYPE_FIELD = "type.field", Medium, "types into a form field";
    TYPE_CONFIG = "type.configuration", High, "types into a configuration field or an editor";
    TYPE_SECRET_NAME = "type.secret-name", Critical, "types into a field that is named like a secret";
    TYPE_SECRET = "type.secret-field", Critical, "types into a secret field";
    TYPE_CREDENTIAL = "type.credential", Critical, "types what looks like a credential";

    PRESS_MOVE = "press.move", Low, "moves the cursor or the page";
    PRESS_KEY = "press.key", Medium, "presses a key that a page can act on";
    PRESS_DELETE = "press.delete", High, "presses Delete outside of a field";
    PRESS_CLIPBOARD = "press.clipboard", High, "uses the clipboard";
    PRESS_SECRET = "press.secret-field", Critical, "presses a key in a secret field";

    SELECT_VIEW = "select.view", Low, "chooses how a list is shown";
    SELECT_OPTION = "select.option", Medium, "chooses from a list";
    SELECT_ADMIN = "select.admin", High, "selects administrator rights";
    SELECT_SECRET = "select.secret-field", Critical, "chooses in a secret field";
    CHECK_BOX = "check.box", Medium, "checks or unchecks";
    CHECK_ADMIN = "check.admin", High, "checks a box for administrator rights";
    DRAG_MOVE = "drag.move", Medium, "moves something";
    DRAG_SECRET = "drag.secret-field", Critical, "drags from or to a secret field";
    DIALOG_DISMISS = "dialog.dismiss", Low, "dismisses a dialog";
    DIALOG_ACCEPT = "dialog.accept", Medium, "accepts a dialog";
    UPLOAD = "upload", High, "chooses a file";

    EFFECT_READ = "effect.read", Low, "reads from the site";
    EFFECT_WRITE = "effect.write", Medium, "changes something on the site";
    EFFECT_UNKNOWN = "effect.unknown", High, "may be more than an ordinary change: its command or button is on no list";
    EFFECT_DESTROYS = "effect.destroys", High, "deletes or cancels something";
    EFFECT_SENDS = "effect.sends", High, "sends or publishes something";
    EFFECT_PAYS = "effect.pays", Critical, "pays, orders or moves money";
    EFFECT_POWER = "effect.power", Critical, "changes who has access, or exports data";
    EFFECT_ACCOUNT = "effect.account", Critical, "deletes an account, project or database";
}
