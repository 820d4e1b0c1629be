/** Verifies that a contender checks the credential of its requests. */
import type { BenchRequest } from './load.ts'

const REFUSALS = [401, 403]

/** Throws if the request succeeds without its header `name`, or with a wrong value of it. */
export async function assertCredentialRequired(
  name: string,
  url: string,
  request?: BenchRequest,
): Promise<void> {
  const { [name]: credential, ...others } = request?.headers ?? {}
  if (request === undefined || credential === undefined) throw new Error(`no request sends ${name}`)
  const { method, target, body = null } = request
  const wrong = { ...others, [name]: `${credential}x` }
  for (const [how, headers] of Object.entries({ without: others, 'with a wrong': wrong })) {
    const response = await fetch(`${url}${target}`, { method, headers, body })
    await response.arrayBuffer()
    const { status } = response
    if (!REFUSALS.includes(status)) throw new Error(`${how} ${name} the response is ${status}`)
  }
}
