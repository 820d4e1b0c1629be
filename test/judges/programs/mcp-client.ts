/**
 * The client of the TypeScript SDK, from the bare URL to a call: it reads the metadata of the
 * resource and of the authorization server, obtains a token, and calls a tool, in both revisions.
 */
import {
  Client,
  ClientCredentialsProvider,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'

const { URL: base = '', ID = '', SECRET = '' } = process.env
const home = await (await fetch(base)).json()
const address = new URL(home.links.mcp, base)

for (const mode of ['legacy', 'auto'] as const) {
  const expectedIssuer = base
  const authProvider = new ClientCredentialsProvider({
    expectedIssuer,
    clientId: ID,
    clientSecret: SECRET,
  })
  const client = new Client({ name: 'judge', version: '1' }, { versionNegotiation: { mode } })
  await client.connect(new StreamableHTTPClientTransport(address, { authProvider }))
  const { tools } = await client.listTools()
  const call = async (name: string, input: object) => {
    const { content } = await client.callTool({ name, arguments: { ...input } })
    const [{ text }] = content as [{ text: string }]
    return JSON.parse(text)
  }
  const { operations } = await call('search_operations', { query: 'list users' })
  const { operation } = operations[0]
  const page = await call('read_operation', { operation, parameters: { limit: 1 } })
  const revision = client.getNegotiatedProtocolVersion()
  console.log(JSON.stringify({ revision, tools: tools.length, operation, status: page.status }))
  await client.close()
}
