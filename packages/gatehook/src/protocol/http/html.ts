/** Renders HTML with escaped values. Pure. */

/** Text that is valid HTML. */
export interface Html {
  readonly html: string
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => ENTITIES[character]!)

type HtmlValue = string | number | Html | false | undefined | readonly Html[]

const render = (value: HtmlValue): string => {
  if (value === undefined || value === false) return ''
  if (typeof value === 'string' || typeof value === 'number') return escapeHtml(String(value))
  return 'html' in value ? value.html : value.map((item) => item.html).join('')
}

/** Template tag that escapes strings and numbers, and inserts `Html` as it is. */
export const html = (texts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html => ({
  html: texts.map((text, at) => (at === 0 ? text : render(values[at - 1]) + text)).join(''),
})
