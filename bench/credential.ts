/** Whether a contender asks for the credential it is sent; which rows want that, they say. */
import type { Ask } from './load.ts'

const REFUSALS = [401, 403]

/** Throws where `ask` is answered without its header `name`, or with another value in it. */
export async function assertAskedFor(name: string, url: string, ask?: Ask): Promise<void> {
  const { [name]: credential, ...others } = ask?.headers ?? {}
  if (ask === undefined || credential === undefined) throw new Error(`no request sends ${name}`)
  const { method, target, body = null } = ask
  const wrong = { ...others, [name]: `${credential}x` }
  for (const [how, headers] of Object.entries({ without: others, 'with a wrong': wrong })) {
    const response = await fetch(`${url}${target}`, { method, headers, body })
    await response.arrayBuffer()
    const { status } = response
    if (!REFUSALS.includes(status)) throw new Error(`${how} ${name} the answer is ${status}`)
  }
}
