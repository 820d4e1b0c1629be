/**
 * Renders the response of a page without scripts, such as a sign-in: no frames, no external
 * resources, `Cache-Control: no-store`. Pure.
 */
import { createHash } from 'node:crypto'
import type { Answer } from './call.ts'
import { type Html, html } from './html.ts'
import { style } from './page-style.ts'

export interface HtmlPage {
  readonly title: string
  readonly body: Html
  readonly status?: number
  /** A CSP source for redirects of its forms to another origin. */
  readonly formAction?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly cookie?: string | undefined
}

/** The CSP allows the inline stylesheet by its hash. */
const STYLE_HASH = createHash('sha256').update(style).digest('base64')

export function renderPage({
  title,
  body,
  status = 200,
  formAction,
  headers,
  cookie,
}: HtmlPage): Answer {
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${STYLE_HASH}'`,
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
<style>${{ html: style }}</style>
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

/** Redirects have them too: the URL of a page must not reach the next site as a referrer. */
export const PAGE_HEADERS = {
  'cache-control': 'no-store',
  pragma: 'no-cache',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'permissions-policy': 'publickey-credentials-get=()',
} as const
