/** Connections of PostgreSQL outside the pool: for one piece of work, and for notifications. */
import type { Client, ClientBase } from 'pg'
import { type ConnectionSource, logBrokenConnection } from './connection-source.ts'
import { cannotBeOpened } from './postgres-errors.ts'

export async function dedicate<T>(
  source: ConnectionSource,
  use: (session: ClientBase) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const client = await source.open(false)
  const cut = () => client.connection.stream.destroy()
  signal?.addEventListener('abort', cut)
  try {
    return await use(client)
  } finally {
    signal?.removeEventListener('abort', cut)
    await client.end().catch(() => undefined)
  }
}

/** Pause before a broken listening connection is replaced. */
const RECONNECT_PAUSE_MS = 1_000

/** Throws `StorageError` if the first connection cannot be opened; later ones are replaced. */
export async function listen(
  source: ConnectionSource,
  channel: string,
  onMessage: (message: string) => void,
): Promise<() => Promise<void>> {
  let current: Client | undefined
  let timer: NodeJS.Timeout | undefined
  let isStopped = false
  const reconnect = () => {
    if (isStopped || timer) return
    timer = setTimeout(() => {
      timer = undefined
      connect().catch((error: Error) => {
        logBrokenConnection(source.log, error)
        reconnect()
      })
    }, RECONNECT_PAUSE_MS)
    timer.unref()
  }
  const connect = async () => {
    const client = await source.open()
    client.on('end', reconnect)
    client.on('notification', ({ payload }) => onMessage(payload ?? ''))
    await client.query(`LISTEN "${channel}"`)
    current = client
    if (isStopped) await client.end()
  }
  await connect().catch((error: unknown) => {
    throw cannotBeOpened(source.hosts, error)
  })
  // It may hang, too, and sends nothing that shows it.
  source.onHung(() => current?.connection.stream.destroy())
  return async () => {
    isStopped = true
    clearTimeout(timer)
    await current?.end().catch(() => undefined)
  }
}
