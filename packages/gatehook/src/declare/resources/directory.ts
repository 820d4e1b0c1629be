/** The rows that sign in, for `identity/people/`: those of the resource with `.signsIn()`. */

import type { Directory, DirectoryRow } from '../../identity/people/person.ts'
import { prepareStatement } from '../../platform/storage/sql.ts'
import { foldName } from '../../protocol/fields/folding.ts'
import type { Catalog } from './catalog.ts'
import { EVERY_SCOPE } from './field-rights.ts'
import { wholeScope } from './ownership.ts'
import type { ResourceDefinition } from './resource.ts'
import { rowDecoder } from './shape.ts'
import { createSignUpForms } from './sign-up-forms.ts'

/** Returns the resource whose rows sign in, or undefined. */
export const signInResource = (
  resources: readonly ResourceDefinition[],
): ResourceDefinition | undefined => resources.find(({ signsIn }) => signsIn)

/** Returns whether the sign-in name is an e-mail address that can change (§6.9). */
export function hasMailNames({ fields, signsIn }: ResourceDefinition): boolean {
  const spec = fields[signsIn!.username]!
  return spec.kind === 'email' && spec.write !== 'never' && !spec.isWriteOnce
}

export function createDirectory(catalog: Catalog): Directory | undefined {
  const definition = signInResource(catalog.service.resources)
  if (!definition) return undefined
  const entry = catalog.entries.get(definition.name)!
  const { rows, reach } = entry
  // Operators write every field, and read all but write-only ones.
  const shape = rows.newest.as(EVERY_SCOPE)
  const { username, names, signUp, passwordReset } = definition.signsIn!
  const decode = rowDecoder(definition)
  const scopeById = prepareStatement(`SELECT scope FROM ${definition.name} WHERE id = ?`)
  return {
    resource: definition.name,
    username,
    names,
    fields: definition.fields,
    signUp,
    hasPasswordReset: passwordReset,
    hasMailNames: hasMailNames(definition),
    readUsername: (text) => String(shape.validators.patch({ [username]: text })[username]),
    async rename(tx, principal, id, name, actor) {
      const permitsUsername = (value: unknown) => foldName(String(value)) === foldName(name)
      const target = { reach: reach(principal, 'change'), id, actor, permitsUsername }
      await rows.update(tx, target, () => ({ [username]: name }))
    },
    signUpForms: createSignUpForms(entry),
    values: (body) => shape.validators.create(body),
    async create(tx, scope, values) {
      return (await rows.create(tx, wholeScope(scope), values)).row
    },
    async find(reader, scope, id) {
      const cells = await rows.store.find(reader, wholeScope(scope), id)
      return cells && decode(cells)
    },
    async scopeOf(reader, id) {
      return (await reader.get(scopeById([id])))?.scope
    },
    show: (row) => JSON.parse(shape.encode(row)) as DirectoryRow,
  }
}
