// What a person reads on the page: what runs on stands in one line, and blocks stand apart.
const pageText = ({ length }) => {
  let text = '';
  const stack = [documentElement(document)];
  for (let visited = 0; stack.length && text.length < length && visited <= MAX_DOM_NODES; visited += 1) {
    const node = stack.pop();
    if (!node) continue;
    if (typeof node === 'string') { text += node; continue; }
    if (isText(node)) { if (!isMaskedText(node)) text += clean(characters(node).slice(0, length), length); continue; }
    if (!isElement(node) || NEVER_KEPT.has(tagOf(node)) || tagOf(node) === 'head') continue;
    const drawn = visibility(node);
    if (node instanceof HTMLInputElement) { if (drawn === true && INPUT_BUTTONS.has(INPUT.type(node))) text += ` ${clean(INPUT.value(node), length)} `; continue; }
    if (drawn === false || isSecret(node) || node instanceof HTMLTextAreaElement) continue;
    if (tagOf(node) === 'br' || !runsOn(node, true)) { text += '\n'; stack.push('\n'); }
    const children = flatChildren(node);
    for (let i = children.length - 1; i >= 0; i -= 1) if (drawn === true || !isText(children[i])) stack.push(children[i]);
  }
  const lines = text.split('\n').map((line) => line.replace(/ +/g, ' ').trim()).filter((line) => line !== '');
  return { text: lines.join('\n').slice(0, length).toWellFormed(), status: responseStatus() };
};
