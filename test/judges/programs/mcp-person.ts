/**
 * The client of the TypeScript SDK acts for a person. It prints the pages that the person opens,
 * and reads the redirects. Its first token may lack the scope of the operation.
 */
import { createInterface } from 'node:readline'
import {
  Client,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client'

const { URL: base = '', CALLBACK = '', ID, DOCUMENT, OPERATION, PARAMETERS = '{}' } = process.env
const home = await (await fetch(base)).json()
const address = new URL(home.links.mcp, base)
const redirects = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const stored = new Map<string, unknown>(ID === undefined ? [] : [['client', { client_id: ID }]])
let page = ''

const authProvider: OAuthClientProvider = {
  redirectUrl: CALLBACK,
  ...(DOCUMENT !== undefined && { clientMetadataUrl: DOCUMENT }),
  clientMetadata: {
    client_name: 'Agent',
    redirect_uris: [CALLBACK],
    token_endpoint_auth_method: 'none',
  },
  clientInformation: () => stored.get('client') as { client_id: string } | undefined,
  saveClientInformation: (client) => void stored.set('client', client),
  tokens: () => stored.get('tokens') as undefined,
  saveTokens: (tokens) => void stored.set('tokens', tokens),
  redirectToAuthorization: ({ href }) => {
    page = href
  },
  saveCodeVerifier: (verifier) => void stored.set('verifier', verifier),
  codeVerifier: () => String(stored.get('verifier')),
}

const createTransport = () => new StreamableHTTPClientTransport(address, { authProvider })
let transport = createTransport()
const client = new Client({ name: 'judge', version: '1' })

/** Runs a step, and once more after the person has consented. */
async function withConsent<T>(step: () => Promise<T>): Promise<T> {
  try {
    return await step()
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error
    console.log(JSON.stringify({ open: page }))
    const { value } = await redirects.next()
    await transport.finishAuth(new URL(value).searchParams)
    return step()
  }
}

await withConsent(() => {
  transport = createTransport()
  return client.connect(transport)
})
const { content } = await withConsent(() =>
  client.callTool({
    name: 'call_operation',
    arguments: { operation: OPERATION, parameters: JSON.parse(PARAMETERS) },
  }),
)
const [{ text }] = content as [{ text: string }]
const { scope } = stored.get('tokens') as { scope: string }
console.log(JSON.stringify({ status: JSON.parse(text).status, scope }))
await client.close()
process.exit()
