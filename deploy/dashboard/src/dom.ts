/** Building the page. Text is inserted as text, never as HTML. */

type Child = Node | string | null;
type Attributes = Record<string, string | boolean | EventListener>;

/** An element. Attributes that begin with `on` are listeners; `false` omits an attribute. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  decorate(element, attributes, children);
  return element;
}

export function svg(tag: string, attributes: Attributes = {}, ...children: Child[]): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  decorate(element, attributes, children);
  return element;
}

function decorate(element: Element, attributes: Attributes, children: Child[]): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null));
}

/** Change a text only if it differs, so that a screen reader reads a live region once. */
export function say(element: Element, words: string): void {
  if (element.textContent !== words) element.textContent = words;
}

const keys = new WeakMap<Element, unknown>();

/** Replace the children only when `key` (a text or an object) has changed, to keep focus, selection and open details. */
export function refill(element: HTMLElement, key: unknown, children: () => Child[]): void {
  if (keys.get(element) === key) return;
  keys.set(element, key);
  element.replaceChildren(...children().filter((child) => child !== null));
}

export function show(element: HTMLElement, visible: boolean): void {
  if (element.hidden === visible) element.hidden = !visible;
}
