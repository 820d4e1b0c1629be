/** A new PostgreSQL database on an existing server, which its user drops: for tests of services. */
import type { Log } from '../../kernel/log.ts'
import { StorageError } from './database.ts'
import { openSessions } from './postgres-session.ts'

export interface TemporaryDatabase {
  readonly url: string
  /** Ends the connections of the database and drops it. */
  drop(): Promise<void>
}

/**
 * Creates a database. Throws `StorageError`.
 *
 * @param serverUrl the address of any database of the server, whose role may create databases
 * @param name lower case letters, digits and `_`
 */
export async function createTemporaryDatabase(
  serverUrl: string,
  name: string,
  log: Log,
): Promise<TemporaryDatabase> {
  const url = URL.parse(serverUrl)
  if (!url || !/^postgres(ql)?:$/.test(url.protocol)) {
    throw new StorageError('The address of a PostgreSQL server is postgres://USER@HOST/DATABASE.')
  }
  await runOnServer(serverUrl, `CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8'`, log)
  url.pathname = `/${name}`
  return {
    url: url.href,
    drop: () => runOnServer(serverUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`, log),
  }
}

/** Runs a statement that no transaction can contain. */
async function runOnServer(url: string, statement: string, log: Log): Promise<void> {
  const connections = { transactions: 1, reads: 1 }
  const sessions = await openSessions({ url }, { log, connections, isSyncDelayed: false })
  try {
    await sessions.dedicate((session) => session.query(statement))
  } catch (error) {
    const [command] = statement.split(' ', 1)
    const reason = (error as Error).message
    throw new StorageError(`${command} DATABASE failed: ${reason}.`, { cause: error })
  } finally {
    await sessions.close()
  }
}
