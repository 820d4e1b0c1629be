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
export async function authorizeInBrowser(
  address: URL,
  { username, password }: Credentials,
): Promise<URL> {
  const { origin } = address
  const cookies = new Map<string, string>()
  const load = async (url: URL, form?: Record<string, string>): Promise<Page> => {
    const cookie = [...cookies].map((pair) => pair.join('=')).join('; ')
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
  const submit = (page: Page, fields: Record<string, string>): Promise<Page> => {
    const action = /<form method="post" action="([^"]+)"/.exec(page.text)?.[1]
    const ticket = /name="ticket" value="([^"]+)"/.exec(page.text)?.[1]
    assert(action && ticket, page.text)
    return load(new URL(action, origin), { ticket, ...fields })
  }
  let page = await load(address)
  for (let steps = 0; steps < 6; steps++) {
    if (page.location !== null) {
      const next = new URL(page.location, origin)
      if (next.origin !== origin) return next
      page = await load(next)
    } else if (page.text.includes('name="password"')) {
      page = await submit(page, { username, password, action: 'sign-in' })
    } else {
      page = await submit(page, { action: 'allow' })
    }
  }
  throw new Error(`no redirect to the application: ${page.status} ${page.text}`)
}
