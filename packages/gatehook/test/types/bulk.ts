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
