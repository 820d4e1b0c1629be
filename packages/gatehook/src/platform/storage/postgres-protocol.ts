/**
 * Ends a connection whose bytes are no messages of PostgreSQL's protocol: a pooler sends a part of
 * a row, and its own report behind it, when its server ends meanwhile. The parser of pg throws then
 * in a listener of the socket, which would end the process.
 */
import type { Client } from 'pg'

/** The code of `ProtocolError`: that of a message which cannot be read. */
export const UNREADABLE = 'EBADMSG'

/** A server or a pooler has sent bytes that are no messages of the protocol. */
class ProtocolError extends Error {
  override readonly name = 'ProtocolError'
  readonly code = UNREADABLE

  constructor(cause: unknown) {
    super('the database or its pooler sent bytes that are no message of its protocol', { cause })
  }
}

/** The part of a socket that the parser of pg uses. */
interface ParsedStream {
  on(event: string, listener: (bytes: Buffer) => void): unknown
  destroy(error: Error): unknown
}

/** The part of a connection of pg that the guard uses. */
interface ParsingConnection {
  attachListeners(stream: ParsedStream): void
  prependListener(event: 'errorMessage', listener: (error: ServerMessage) => void): unknown
}

/** An error of the server has a severity; that of the parser for an unknown code has none. */
interface ServerMessage extends Error {
  readonly severity?: string | undefined
}

/** Returns the client. Errors of its parser, and of readers of its messages, end its connection. */
export function guardParser(client: Client): Client {
  const connection = client.connection as unknown as ParsingConnection
  const attach = connection.attachListeners.bind(connection)
  connection.attachListeners = (stream) =>
    attach({
      destroy: (error) => stream.destroy(error),
      on(event, listener) {
        return stream.on(event, event === 'data' ? guarded(stream, listener) : listener)
      },
    })
  connection.prependListener('errorMessage', (error) => {
    if (!error.severity) throw error
  })
  return client
}

const guarded =
  (stream: ParsedStream, parse: (bytes: Buffer) => void) =>
  (bytes: Buffer): void => {
    try {
      parse(bytes)
    } catch (error) {
      stream.destroy(new ProtocolError(error))
    }
  }
