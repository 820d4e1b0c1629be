/** SQL for the migrations of a team (§17.1, §17.2): run by the owner, in the schema. */
import { databaseTarget } from '../platform/config/config.ts'
import { placeOf } from '../platform/storage/postgres-place.ts'
import { quotedName } from '../platform/storage/sql-function.ts'
import { configOf, type Input } from './command.ts'

/** Returns the statements as a text that begins with the role of the owner, and ends with it. */
export function printableSql(input: Input, statements: readonly string[]): string {
  const target = databaseTarget(configOf(input))
  const { schema } = placeOf(target)
  const user = decodeURIComponent(URL.parse(target.url)?.username ?? '')
  const owner = target.owner ?? user
  const role = owner === '' ? 'SET ROLE NONE' : `SET ROLE ${quotedName(owner)}`
  const all = [
    role,
    `SET search_path = "${schema}"`,
    ...statements,
    'RESET search_path',
    'RESET ROLE',
  ]
  return all.map((statement) => `${statement};`).join('\n')
}
