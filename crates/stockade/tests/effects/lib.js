// What the pages of the cases share: one short function for each way to send something.
/* global document, fetch, FormData, location, navigator, URLSearchParams, WebSocket, XMLHttpRequest */
const J = (method, url, body, headers = {}) =>
  fetch(url, { method, headers: { "content-type": "application/json", ...headers }, body: body && JSON.stringify(body) })
    .then((r) => r.text()).catch(() => "failed");
const F = (url, fields, method = "POST") =>
  fetch(url, { method, body: new URLSearchParams(fields) }).then((r) => r.text()).catch(() => "failed");
const M = (url, fields) => {
  const body = new FormData();
  for (const [name, value] of Object.entries(fields)) body.set(name, value);
  return fetch(url, { method: "POST", body }).then((r) => r.text()).catch(() => "failed");
};
const X = (method, url, body, type) => {
  const request = new XMLHttpRequest();
  request.open(method, url);
  if (type) request.setRequestHeader("content-type", type);
  request.send(body);
};
const Q = (query, variables, operationName) => J("POST", "/graphql", { operationName, query, variables });
const ready = () => document.body.append("ready");
// Opens a socket and says when it is open.
const L = (path, hello) => {
  const socket = new WebSocket(`${location.protocol.replace("http", "ws")}//${location.host}${path}`);
  socket.onopen = () => { if (hello) socket.send(hello); ready(); };
  return socket;
};
// Registers the worker of the page and says when it can be used.
const W = async () => {
  await navigator.serviceWorker.register("/effects-sw.js", { scope: location.pathname });
  const registration = await navigator.serviceWorker.ready;
  ready();
  return registration.active;
};
// Other windows of the same site call them as well.
Object.assign(globalThis, { J, F, M, X, Q, L, W, ready });
