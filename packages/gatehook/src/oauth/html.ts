/**
 * HTML as text with what was put into it escaped, and what every page is sent with: never framed,
 * no script, nothing loaded, kept by nobody. Pure. Which pages there are is `pages.ts`.
 */
import { createHash } from 'node:crypto'
import type { Answer } from '../http/call.ts'

/** Text that is HTML already. */
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

const escaped = (text: string): string => text.replace(/[&<>"']/g, (sign) => ENTITIES[sign]!)

type Part = string | number | Html | false | undefined | readonly Html[]

const shown = (part: Part): string => {
  if (part === undefined || part === false) return ''
  if (typeof part === 'string' || typeof part === 'number') return escaped(String(part))
  return 'html' in part ? part.html : part.map((one) => one.html).join('')
}

/** A template whose values are escaped, unless they are HTML. */
export const html = (texts: TemplateStringsArray, ...parts: readonly Part[]): Html => ({
  html: texts.map((text, at) => (at === 0 ? text : shown(parts[at - 1]) + text)).join(''),
})

export interface Page {
  readonly title: string
  readonly body: Html
  readonly status?: number
  /** Where its forms may lead beside ourselves: CSP judges redirects after a form, too. */
  readonly formAction?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly cookie?: string | undefined
}

/** One stylesheet, inline, named by its hash: no other style is applied. */
export function pageMaker(css: string): (page: Page) => Answer {
  const hash = createHash('sha256').update(css).digest('base64')
  return ({ title, body, status = 200, formAction, headers, cookie }) => {
    const policy = [
      "default-src 'none'",
      `style-src 'sha256-${hash}'`,
      `form-action 'self'${formAction === undefined ? '' : ` ${formAction}`}`,
      "frame-ancestors 'none'",
      "base-uri 'none'",
    ]
    const text = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<style>${{ html: css }}</style>
</head>
<body>
${body}
</body>
</html>
`
    return {
      status,
      raw: text.html,
      headers: {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': policy.join('; '),
        ...PAGE_HEADERS,
        ...headers,
      },
      ...(cookie !== undefined && { cookies: [cookie] }),
    }
  }
}

/** Of redirects as well: the address of a page holds what the next should not be told. */
export const PAGE_HEADERS = {
  'cache-control': 'no-store',
  pragma: 'no-cache',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'permissions-policy': 'publickey-credentials-get=()',
} as const
