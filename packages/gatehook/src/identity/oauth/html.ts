/**
 * Renders the response of a page: no scripts, no frames, no external resources, `Cache-Control:
 * no-store`. Pure. The pages are `pages.ts`.
 */
import { createHash } from 'node:crypto'
import type { Answer } from '../../protocol/http/call.ts'
import { type Html, html } from '../../protocol/http/html.ts'

export interface HtmlPage {
  readonly title: string
  readonly body: Html
  readonly status?: number
  /** A CSP source for redirects of its forms to another origin. */
  readonly formAction?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly cookie?: string | undefined
}

/** Creates a renderer with one inline stylesheet, which the CSP allows by its hash. */
export function createPageRenderer(css: string): (page: HtmlPage) => Answer {
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

/** Redirects have them too: the URL of a page must not reach the next site as a referrer. */
export const PAGE_HEADERS = {
  'cache-control': 'no-store',
  pragma: 'no-cache',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'permissions-policy': 'publickey-credentials-get=()',
} as const
