/** The operation `POST /mcp` (§16.11). Its messages are those of the Model Context Protocol. */
import { b } from '../../protocol/fields/members.ts'
import { operation } from '../../protocol/http/operation.ts'

const version = b.oneOf(['2.0']).describe('The version of JSON-RPC.').example('2.0')
const id = b.json().optional().describe('The id of the request.').example(1)

/** A failure of the API, or the response of JSON-RPC to a message that is none of the protocol. */
const failure = b
  .openObject({
    error: b.json().describe('The code, or the error of JSON-RPC.').example('unauthorized'),
  })
  .named('McpFailure')
  .example({ error: 'unauthorized' })

export const mcpOperations = {
  send: operation('POST /mcp', {
    id: 'send_mcp_message',
    tag: 'service',
    summary: 'Send a message of the Model Context Protocol',
    description:
      'Streamable HTTP without sessions, in the revisions 2026-07-28 and 2025-11-25. The tools ' +
      'find, describe and run the operations of the API.',
    bodyCode: 'invalid_request',
    input: {
      jsonrpc: version,
      id,
      method: b.text().optional().describe('The method.').example('tools/list'),
      params: b.anyObject().optional().describe('The parameters of the method.').example({}),
    },
    isOpen: true,
    output: b.openObject({
      jsonrpc: version,
      id,
      result: b.anyObject().optional().describe('The result.').example({ tools: [] }),
      error: b.anyObject().optional().describe('The error, in place of a result.'),
    }),
    returns: 'The response of JSON-RPC.',
    otherStatus: {
      status: 202,
      returns: 'The message is a notification: the response has no body.',
      example: { jsonrpc: '2.0' },
    },
    errors: [
      'insufficient_scope',
      'cross_site_request',
      'not_acceptable',
      'payload_too_large',
      'unsupported_version',
      'unsupported_media_type',
    ],
    failure,
  }),
}
