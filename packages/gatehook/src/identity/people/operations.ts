/** The operations of the administration of people (§13). */

import { b } from '../../protocol/fields/members.ts'
import type { FieldSpecs } from '../../protocol/fields/schema.ts'
import { operation } from '../../protocol/http/operation.ts'
import type { Administration } from '../access/administration.ts'
import { account, credentialMembers } from './collection.ts'
import { assertedIdentity } from './identities.ts'
import { credentialCreation, passwordInput, personPatch } from './person-administration.ts'
import { rowMembers } from './row-members.ts'

/** @param row the fields of the resource whose rows sign in, in the newest version */
export const personOperations = (admin: Pick<Administration, 'scopes'>, row: FieldSpecs) => {
  const person = b
    .object({
      ...rowMembers(row),
      id: b.int(1),
      ...credentialMembers,
      identities: b.list(assertedIdentity).describe('Its names at trusted issuers.').example([]),
    })
    .named('Person')
  return {
    list: operation('GET /admin/users', {
      id: 'list_people',
      tag: 'people',
      summary: 'List the people who can sign in',
      output: b.page(account),
    }),
    create: operation('POST /admin/users', {
      id: 'create_person',
      tag: 'people',
      summary: 'Create a person who can sign in',
      description: 'The body has the fields of the row and the members of the credential.',
      input: { ...rowMembers(row, 'create'), ...credentialCreation(admin) },
      // `readCreation` validates the row with the resource's own validation: its codes are finer.
      validates: false,
      headers: ['Idempotency-Key'],
      output: person,
      status: 201,
      location: '/admin/users/{id}',
      errors: ['conflict'],
    }),
    read: operation('GET /admin/users/:id', {
      id: 'get_person',
      tag: 'people',
      summary: 'Read a person',
      params: { id: b.int(1) },
      output: person,
    }),
    update: operation('PATCH /admin/users/:id', {
      id: 'update_person',
      tag: 'people',
      summary: 'Change the role, scopes and identities of a person, or disable it',
      description:
        'Sessions end if the person is disabled, gets another role, or loses a scope or identity.',
      params: { id: b.int(1) },
      input: personPatch(admin),
      headers: ['If-Match', 'Idempotency-Key'],
      output: person,
      errors: ['conflict'],
    }),
    setPassword: operation('PUT /admin/users/:id/password', {
      id: 'set_person_password',
      tag: 'people',
      summary: 'Set the password of a person',
      description: 'Its sessions end. A row without a credential gets one.',
      params: { id: b.int(1) },
      input: passwordInput,
      headers: ['Idempotency-Key'],
      errors: ['conflict'],
    }),
  }
}
