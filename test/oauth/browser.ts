/** A browser over real sockets that signs in, consents, and stops at the application. */
import assert from 'node:assert/strict'

export interface Credentials {
  readonly username: string
  readonly password: string
}

interface Page {
  readonly status: number
  readonly text: string
  readonly location: string | null
}

/** Follows an authorization request; returns the URL of the redirect to the application. */
export async function authorizeInBrowser(address: URL, credentials: Credentials): Promise<URL> {
  const { text, outside } = await allowInBrowser(address, credentials)
  return outside ?? assert.fail(`no redirect to the application: ${text}`)
}

interface LastPage extends Pick<Page, 'status' | 'text'> {
  /** The redirect that the browser did not follow. */
  readonly outside?: URL
}

const STEPS_MAX = 12

/**
 * Signs in and allows. Returns the redirect to another server, or the first page without a form of
 * this server.
 *
 * @param isOutside whether the browser stops at a redirect; default: at another origin
 */
export async function allowInBrowser(
  address: URL,
  { username, password }: Credentials,
  isOutside = (url: URL) => url.origin !== address.origin,
): Promise<LastPage> {
  let current = address
  const cookies = new Map<string, string>()
  const load = async (url: URL, form?: Record<string, string>): Promise<Page> => {
    const cookie = [...cookies].map((pair) => pair.join('=')).join('; ')
    current = url
    const reply = await fetch(url, {
      redirect: 'manual',
      headers: { cookie },
      ...(form && { method: 'POST', body: new URLSearchParams(form) }),
    })
    for (const line of reply.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!
      cookies.set(name!, value!)
    }
    const { status, headers } = reply
    return { status, text: await reply.text(), location: headers.get('location') }
  }
  let page = await load(address)
  for (let steps = 0; steps < STEPS_MAX; steps++) {
    const action = /<form method="post" action="([^"]+)"/.exec(page.text)?.[1]
    const ticket = /name="ticket" value="([^"]+)"/.exec(page.text)?.[1]
    if (page.location !== null) {
      const next = new URL(page.location, current)
      if (isOutside(next)) return { ...page, outside: next }
      page = await load(next)
    } else if (!action || !ticket) {
      return page
    } else {
      const isSignIn = page.text.includes('name="password"')
      const fields = isSignIn ? { username, password, action: 'sign-in' } : { action: 'allow' }
      page = await load(new URL(action, current), { ticket, ...fields })
    }
  }
  throw new Error(`no end: ${page.status} ${page.text}`)
}
