/** Messages of the Model Context Protocol, sent without a client. */
import type { Reply } from '../../../../test/rig/service.ts'

type Post = (body: unknown, headers?: Record<string, string>) => Promise<Reply>

export interface ToolReply {
  /** The status of HTTP. */
  readonly http: Reply
  /** Whether the tool failed. */
  readonly isError: boolean
  /** The JSON value of the text of the result. */
  // biome-ignore lint/suspicious/noExplicitAny: results have many shapes
  readonly value: any
}

export const message = (method: string, params: object = {}) => ({
  jsonrpc: '2.0',
  id: 1,
  method,
  params,
})

const META = 'io.modelcontextprotocol/'

/** Returns a message of the revision 2026-07-28 and its headers. */
export const modernMessage = (method: string, params: object = {}) => ({
  body: message(method, {
    ...params,
    _meta: {
      [`${META}protocolVersion`]: '2026-07-28',
      [`${META}clientInfo`]: { name: 'test', version: '1' },
      [`${META}clientCapabilities`]: {},
    },
  }),
  headers: {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    ...('name' in params && { 'mcp-name': String(params.name) }),
  },
})

/** Returns a function that calls a tool. */
export const toolsOf =
  (post: Post, headers: Record<string, string> = {}) =>
  async (name: string, input?: object): Promise<ToolReply> => {
    const http = await post(message('tools/call', { name, arguments: input }), headers)
    const result = http.body?.result
    const text = result?.content[0].text
    return {
      http,
      isError: result?.isError === true,
      value: text === undefined ? undefined : JSON.parse(text),
    }
  }
