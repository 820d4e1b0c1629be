/** The rows that sign in, as `people/` asks for them: the resource that `.signsIn()` names. */
import type { Directory, DirectoryRow } from '../people/person.ts'
import { fixed } from '../storage/sql.ts'
import type { Catalog } from './catalog.ts'
import { wholeScope } from './ownership.ts'
import type { Definition } from './resource.ts'
import { decoder } from './shape.ts'

/** The one resource whose rows sign in; undefined where none does. */
export const signingIn = (resources: readonly Definition[]): Definition | undefined =>
  resources.find((one) => one.signsIn)

export function directoryOf(catalog: Catalog): Directory | undefined {
  const definition = signingIn(catalog.service.resources)
  if (!definition) return undefined
  const { rows } = catalog.entries.get(definition.name)!
  const decode = decoder(definition)
  const owner = fixed(`SELECT scope FROM ${definition.name} WHERE id = ?`)
  return {
    resource: definition.name,
    username: definition.signsIn!.username,
    fields: Object.keys(definition.fields),
    values: (body) => rows.newest.validators.create(body),
    async create(tx, scope, values) {
      return (await rows.create(tx, wholeScope(scope), values)).row
    },
    async find(reader, scope, id) {
      const cells = await rows.store.find(reader, wholeScope(scope), id)
      return cells && decode(cells)
    },
    async scopeOf(reader, id) {
      return (await reader.get(owner([id])))?.scope
    },
    show: (row) => JSON.parse(rows.newest.encode(row)) as DirectoryRow,
  }
}
