/** The part of the DOM that the readers of HTML use: the library's types expect those of browsers. */
export type Element = {
  nodeName: string
  id: string
  textContent: string | null
  innerHTML: string
  children: Iterable<Element>
  getAttribute(name: string): string | null
  setAttribute(name: string, value: string): void
  removeAttribute(name: string): void
  closest(selectors: string): Element | null
  querySelector(selectors: string): Element | null
  querySelectorAll(selectors: string): Iterable<Element>
  replaceWith(...nodes: unknown[]): void
  remove(): void
}
