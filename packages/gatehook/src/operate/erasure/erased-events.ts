/** Erases a person from an event: a recorded one with its responses, and one of SQL that waits. */

import type { PersonPlace } from '../../declare/resources/person-rows.ts'
import type { PersonalData } from '../../declare/resources/personal-data.ts'
import { replaceObject } from '../../history/events/store.ts'
import { eraseDeliveredEvent, eraseResponses } from '../../outbound/deliveries/erased-event.ts'
import type { BodyRenderer } from '../../outbound/deliveries/outbox.ts'
import { replaceEmittedObject } from '../../outbound/emissions/store.ts'
import type { Database, Tx, Value } from '../../platform/storage/database.ts'
import type { PersonValues } from './person-values.ts'
import { placesIn, withoutValues } from './undeclared-objects.ts'

/** A row of a table by its columns. */
export type NamedCells = Readonly<Record<string, Value>>

export type RowErasure = (tx: Tx) => Promise<unknown>

export interface EventErasureDeps extends BodyRenderer {
  readonly db: Database
  readonly personal: PersonalData
  /** The newest version, in which SQL emits events. */
  readonly newest: string
}

export interface ErasureState {
  readonly values: PersonValues
  /** Whether other values are yet to be collected, so that rows, events and inputs stay. */
  readonly isPart: boolean
}

export const recordedEvent = ({ type, collection, shape, object, subject }: NamedCells) => ({
  type: String(type),
  collection: collection as string | null,
  shape: String(shape),
  text: String(object),
  subject: subject as string | null,
})

export async function erasedEvent(
  deps: EventErasureDeps,
  person: PersonPlace,
  { values, isPart }: ErasureState,
  row: NamedCells,
): Promise<RowErasure | undefined> {
  const event = recordedEvent(row)
  const declared = await deps.personal.eraseEvent(deps.db, person, event, values)
  if (isPart && declared !== undefined) return undefined
  const object = deps.personal.declares(event)
    ? (declared ?? event.text)
    : withoutValues(event.text, values, placesIn(person, event))
  if (object === event.text) return undefined
  const { scope } = person
  const { type, collection, shape } = event
  const stored = { scope, id: String(row.id), type, collection, shape, object }
  return async (tx) => {
    await replaceObject(tx, scope, stored.id, object)
    await eraseDeliveredEvent(tx, deps, { ...stored, created: Number(row.created) })
  }
}

/** Removes the responses to an event of the person, which a receiver may have given later. */
export async function lateResponses(
  { db, personal }: EventErasureDeps,
  person: PersonPlace,
  { values }: ErasureState,
  row: NamedCells,
): Promise<RowErasure | undefined> {
  const event = recordedEvent(row)
  const isOfPerson = personal.declares(event)
    ? (await personal.eraseEvent(db, person, event, values)) !== undefined
    : event.subject === String(person.id)
  return isOfPerson ? (tx) => eraseResponses(tx, person.scope, String(row.id)) : undefined
}

/**
 * An event of SQL that no node has recorded is never removed. A held one fits no declaration yet:
 * it keeps the members that the present one lacks, without the values of the person.
 */
export async function erasedEmission(
  { db, personal, newest }: EventErasureDeps,
  person: PersonPlace,
  { values, isPart }: ErasureState,
  { no, type, object }: NamedCells,
): Promise<RowErasure | undefined> {
  const text = String(object)
  if (text === '') return undefined // its event was recorded
  const event = { type: String(type), collection: null, shape: newest, text, subject: null }
  const declared = await personal.eraseEvent(db, person, event, values)
  if (isPart && declared !== undefined) return undefined
  const whole =
    declared === undefined || declared === text
      ? text
      : JSON.stringify({ ...JSON.parse(text), ...JSON.parse(declared) })
  const erased = withoutValues(whole, values, declared === undefined ? 'nowhere' : 'everywhere')
  return erased === text ? undefined : (tx) => replaceEmittedObject(tx, Number(no), erased)
}
