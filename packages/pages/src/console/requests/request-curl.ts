/** A logged request as a shell command. Secrets are variables. */
import type { RequestDetail } from '../api-shapes.ts'

const REPEATED = ['content-type', 'accept', 'idempotency-key', 'if-match', 'x-api-version']
const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** The header that carries the credential, with a variable in its place. */
function credentialHeader({ headers, credential }: RequestDetail): string | undefined {
  const authorization = headers?.authorization
  if (authorization !== undefined || credential?.kind === 'person') {
    return '"Authorization: Bearer $TOKEN"'
  }
  if (headers && !('x-api-key' in headers)) return undefined
  return credential === null && !headers ? undefined : '"X-API-Key: $KEY"'
}

export function curlOfRequest(request: RequestDetail): string {
  const { method, path, headers, body } = request
  const lines = [`curl ${method === 'GET' ? '' : `-X ${method} `}${quote(location.origin + path)}`]
  const secret = credentialHeader(request)
  if (secret) lines.push(`-H ${secret}`)
  for (const name of REPEATED) {
    const value = headers?.[name]
    if (value !== undefined && value !== '*/*') lines.push(`-H ${quote(`${name}: ${value}`)}`)
  }
  if (body !== null && body !== undefined) {
    lines.push(`-d ${quote(typeof body === 'string' ? body : JSON.stringify(body))}`)
  }
  return lines.join(' \\\n  ')
}
