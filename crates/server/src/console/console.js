// The console's script: live updates, countdowns, notifications and keyboard shortcuts. All else works without it.
"use strict";
(() => {
  /** A question for the operator, with the time at which it expires. @typedef {HTMLElement & { deadline: number }} Card */

  /** @type {HTMLFormElement | null} */
  const linkForm = document.querySelector("form[data-link]");
  const linkField = linkForm?.elements.namedItem("link");
  if (linkField instanceof HTMLInputElement && location.hash.length > 1) {
    linkField.value = location.hash.slice(1);
    history.replaceState(null, "", location.pathname); // the token is for one use, not for the history
  }

  const found = document.getElementById("live");
  if (!found) return;
  const live = found;
  const connectionLight = document.querySelector(".live");
  const preferences = { sound: preference("sound"), notice: preference("notice") };
  /** @type {Card | null} */
  let selected = null;
  const knownIds = new Set(cards().map((card) => card.id));
  /** @type {AudioContext | null} */
  let audio = null;
  let settleTimer = 0;
  const refreshState = { running: false, again: false };
  /** @type {Record<string, string>} The HTML last adopted, by id. */
  const adopted = {};

  /** @param {string} name */
  function preference(name) {
    /** @type {HTMLInputElement | null} */
    const input = document.querySelector(`input[name=${name}]`);
    if (!input) throw new Error(`no preference ${name}`);
    input.checked = localStorage.getItem(name) === "on";
    if (name === "notice" && !("Notification" in window)) { input.checked = false; input.disabled = true; }
    input.addEventListener("change", async () => {
      if (name === "notice" && input.checked && (await Notification.requestPermission()) !== "granted") input.checked = false;
      localStorage.setItem(name, input.checked ? "on" : "off");
      if (name === "sound" && input.checked) ring();
    });
    return input;
  }
  function cards() {
    return [.../** @type {NodeListOf<Card>} */ (live.querySelectorAll(".card"))];
  }
  /** @param {Element} card @param {boolean} disabled */
  function setButtonsDisabled(card, disabled) {
    card.querySelectorAll("button").forEach((button) => { button.disabled = disabled; });
  }

  // The server sends the time that is left, because this machine's clock may be wrong.
  /** @param {Card} card */
  function startCountdown(card) {
    card.deadline = performance.now() + Number(card.dataset.left);
  }
  function updateCountdowns() {
    for (const card of cards()) {
      if (!card.dataset.left) continue;
      const left = Math.max(0, card.deadline - performance.now());
      const label = card.querySelector(".left");
      if (label) label.textContent = left > 0 ? `${Math.ceil(left / 1000)} s` : "expired";
      /** @type {HTMLProgressElement | null} */
      const bar = card.querySelector(".bar");
      if (bar) bar.value = left;
      if (left === 0 && !card.classList.contains("over")) {
        card.classList.add("over");
        setButtonsDisabled(card, true);
        setTimeout(refresh, 400);
      }
    }
  }

  // When cards come and go, or the page itself comes to the front, what is under a finger may have changed: presses of
  // that moment are not intended. The style sheet covers the first moment of a page, and of a card.
  function ignorePressesBriefly() {
    live.classList.add("settling");
    clearTimeout(settleTimer);
    settleTimer = setTimeout(() => live.classList.remove("settling"), 500);
  }

  async function refresh() {
    if (refreshState.running) { refreshState.again = true; return; }
    refreshState.running = true;
    try {
      const response = await fetch(live.dataset.from ?? "", { headers: { accept: "text/html" }, cache: "no-store" });
      if (response.status === 401) { location.assign("/console/login"); return; }
      if (!response.ok) return;
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      adopt(page.getElementById("live"));
    } catch {
      connectionLight?.classList.remove("on");
    } finally {
      refreshState.running = false;
      if (refreshState.again) { refreshState.again = false; refresh(); }
    }
  }

  // Unchanged cards are not touched: a press that has begun, a note half written and a step half taken go on.
  /** @param {HTMLElement | null} next */
  function adopt(next) {
    const here = live.querySelector("#waiting"), there = next?.querySelector("#waiting");
    if (!next || !here || !there) return;
    const wanted = new Map([.../** @type {HTMLCollectionOf<Card>} */ (there.children)].map((card) => [card.id, card]));
    const before = here.children.length;
    for (const old of [.../** @type {HTMLCollectionOf<Card>} */ (here.children)]) {
      const now = wanted.get(old.id);
      if (now && now.dataset.state === old.dataset.state) wanted.delete(old.id);
      else old.remove();
    }
    const fresh = [...wanted.values()];
    if (fresh.length || here.children.length !== before) ignorePressesBriefly();
    for (const card of fresh) {
      startCountdown(card);
      if (!knownIds.has(card.id)) card.classList.add("fresh");
      here.append(card);
    }
    for (const id of ["count", "past"]) {
      const replacement = next.querySelector(`#${id}`), shown = live.querySelector(`#${id}`);
      if (replacement && adopted[id] !== replacement.innerHTML) {
        adopted[id] = replacement.innerHTML;
        shown?.replaceChildren(...replacement.childNodes);
      }
    }
    if (selected && !live.contains(selected)) selected = null;
    updateTitle();
    updateCountdowns();
    const news = fresh.filter((card) => !knownIds.has(card.id) && card.dataset.state === "waiting");
    for (const card of fresh) knownIds.add(card.id);
    if (news.length) notify(news);
  }

  // The server sends UTC; people live elsewhere.
  function localizeTimes() {
    live.querySelectorAll("time").forEach((time) => {
      if (time.dateTime) time.textContent = new Date(time.dateTime).toLocaleTimeString();
    });
    const zone = live.querySelector("[data-zone]");
    if (zone) zone.textContent = "";
  }

  function updateTitle() {
    localizeTimes();
    const waiting = live.querySelectorAll(".card[data-state=waiting]").length;
    document.title = (waiting ? `(${waiting}) ` : "") + "Console · Stockade";
  }

  /** @param {Card[]} fresh */
  function notify(fresh) {
    if (preferences.sound.checked) ring();
    if (!preferences.notice.checked) return;
    try {
      for (const card of fresh) {
        const notice = new Notification("Approval needed", { body: card.dataset.summary, tag: card.id });
        notice.onclick = () => { window.focus(); select(cards().find(({ id }) => id === card.id)); notice.close(); };
      }
    } catch {
      preferences.notice.checked = false; // browsers of phones have the class and refuse to make one
    }
  }
  function ring() {
    const context = (audio ??= new AudioContext());
    context.resume();
    [660, 880].forEach((pitch, index) => {
      const tone = context.createOscillator(), volume = context.createGain(), at = context.currentTime + index * 0.16;
      tone.frequency.value = pitch;
      volume.gain.setValueAtTime(0.0001, at);
      volume.gain.exponentialRampToValueAtTime(0.12, at + 0.02);
      volume.gain.exponentialRampToValueAtTime(0.0001, at + 0.3);
      tone.connect(volume).connect(context.destination);
      tone.start(at);
      tone.stop(at + 0.32);
    });
  }

  live.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (live.classList.contains("settling")) return;
    const form = event.target, card = form instanceof HTMLFormElement ? form.closest(".card") : null;
    const output = card?.querySelector("output");
    if (!(form instanceof HTMLFormElement) || !card || !output) return;
    const fields = new URLSearchParams();
    for (const [name, value] of new FormData(form, event.submitter)) if (typeof value === "string") fields.append(name, value);
    setButtonsDisabled(card, true);
    try {
      const response = await fetch(form.action, { method: "POST", body: fields, headers: { accept: "application/json" } });
      const reply = await response.json();
      if (!response.ok) output.textContent = `${reply.message}. ${reply.hint}`;
      if (response.status === 401) location.assign("/console/login");
      if (!response.ok && response.status !== 409) setButtonsDisabled(card, false);
    } catch {
      output.textContent = "The server does not respond. Check that stockade serve is running, then reload this page: the latest decisions show whether yours arrived.";
      setButtonsDisabled(card, false);
    }
    refresh();
  });

  /** @param {Card | undefined} card */
  function select(card) {
    if (!card) return;
    selected?.classList.remove("chosen");
    selected = card;
    card.classList.add("chosen");
    card.scrollIntoView({ block: "nearest" });
  }
  /** @param {string} key */
  function press(key) {
    /** @type {HTMLElement | null | undefined} */
    const target = selected?.querySelector(`[data-key=${key}]`);
    if (!target || live.classList.contains("settling")) return;
    const details = target.parentElement;
    if (target.tagName === "SUMMARY" && details instanceof HTMLDetailsElement) {
      details.open = true;
      details.querySelector("button")?.focus();
    } else if (!(target instanceof HTMLButtonElement && target.disabled)) target.click();
  }
  document.addEventListener("keydown", (event) => {
    const typing = event.target instanceof Element && /^(INPUT|TEXTAREA)$/.test(event.target.tagName);
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || typing) return;
    const waiting = cards().filter((card) => card.dataset.state === "waiting");
    const at = selected ? waiting.indexOf(selected) : -1;
    switch (event.key) {
      case "j": select(waiting[Math.min(at + 1, waiting.length - 1)]); break;
      case "k": select(waiting[Math.max(at - 1, 0)]); break;
      case "a": case "s": case "d": case "r": press(event.key); break;
      case "Escape": selected?.querySelectorAll("details").forEach((details) => { details.open = false; }); break;
      default: return;
    }
    event.preventDefault();
  });

  // Browsers play nothing before the first press on a page: take that one to be ready.
  document.addEventListener("pointerdown", () => { if (preferences.sound.checked) (audio ??= new AudioContext()).resume(); }, { once: true });
  ignorePressesBriefly();
  window.addEventListener("focus", ignorePressesBriefly);
  window.addEventListener("pageshow", ignorePressesBriefly);
  document.addEventListener("visibilitychange", ignorePressesBriefly);
  cards().forEach(startCountdown);
  updateTitle();
  updateCountdowns();
  setInterval(updateCountdowns, 250);
  const events = new EventSource("/operator/events");
  events.onopen = () => { connectionLight?.classList.add("on"); refresh(); };
  events.addEventListener("change", refresh);
  events.onerror = () => connectionLight?.classList.remove("on");
  // For what the stream does not carry: questions of another process with the same state folder, and a lost stream.
  setInterval(refresh, 4000);
})();
