/**
 * The errors that `tsc` must report in the declaration of operations on many rows. An unused
 * `@ts-expect-error` is an error. The file is compiled, not run.
 */
import { f, resource } from 'gatehook'

const fields = { id: f.id(), name: f.string() } as const
const list = { filter: [], sort: ['name'] } as const
const access = { read: 'r', create: 'w', update: 'w', delete: 'w' } as const

resource('parts', { fields, list, access, events: [], batch: true })
resource('parts', { fields, list, access, events: [], export: true })
// @ts-expect-error: export is true or false
resource('parts', { fields, list, access, events: [], export: 'csv' })
// @ts-expect-error: batch is true or false
resource('parts', { fields, list, access, events: [], batch: 100 })

const soft = { fields, list, access, events: ['part.deleted', 'part.restored'] } as const
const deletable = resource('parts', { ...soft, softDelete: true })
deletable.check((row) => (row.deleted_at === null ? undefined : { name: 'is deleted' }))
resource('parts', { ...soft, softDelete: { scope: 'r', purgeAfterDays: 7 } }).rule(
  'restore',
  ({ before }) => ({ name: `${before.name} ${before.deleted_at}` }),
)
// @ts-expect-error: without softDelete a row has no deleted_at
resource('parts', soft).check((row) => (row.deleted_at ? { name: 'is deleted' } : undefined))
// @ts-expect-error: purgeAfterDays is a number
resource('parts', { ...soft, softDelete: { purgeAfterDays: '7' } })
// @ts-expect-error: the suffixes are created, updated, deleted, restored
resource('parts', { fields, list, access, events: ['part.purged'] })
