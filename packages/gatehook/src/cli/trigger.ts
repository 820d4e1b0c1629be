/** `gatehook trigger TYPE`: causes an event by the API requests that lead to it. */

import { type ApiResource, withApi } from '../declare/resources/api-resources.ts'
import { idsInside, innerReferencesOf, mapInside } from '../declare/resources/inner-references.ts'
import type { AnyRow, ResourceDefinition } from '../declare/resources/resource.ts'
import { closestSentence } from '../kernel/closest.ts'
import { systemRandom } from '../kernel/random.ts'
import { type Api, ApiError, customerCommands } from './api.ts'
import type { CommandSpec } from './command.ts'
import { CommandError, UsageError } from './errors.ts'
import { bold, dim } from './output.ts'
import {
  changeOf,
  type EventPlan,
  inputOf,
  planFor,
  sampleValues,
  triggerable,
} from './sample-event.ts'

/** Parses the value of an option, a JSON object. */
function objectOf(option: string, text: unknown): AnyRow {
  if (text === undefined) return {}
  try {
    const value: unknown = JSON.parse(String(text))
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch {
    // the same error as for a JSON value of another type
  }
  throw new UsageError(`${option} is no JSON object. Quote it: ${option} '{"amount": 4900}'`)
}

/** The members that the user selects; the others are samples. */
interface GivenValues {
  /** Of the row, or of the object of an external event. */
  readonly data: AnyRow
  /** Of the body of the last action. */
  readonly input: AnyRow
}

interface Trigger {
  readonly api: Api
  readonly version: string
  /** Number of the sample: random, so that unique fields differ from existing rows. */
  readonly sampleNo: number
}

const SMALL_SAMPLES = 9_000
/** Numbers of samples that are tried while rows with their unique values exist. */
const SAMPLES_MAX = 20
/** The step between them: a prime, so that it leaves a run of seeded rows. */
const SAMPLE_STEP = 997

const isStatus = (error: unknown, status: number): boolean =>
  error instanceof ApiError && error.response.status === status

const collectionPath = ({ version }: Trigger, { name }: ResourceDefinition) =>
  `/api/${version}/${name}`

/** Creates a row from the declared sample, and a row for each required reference. */
async function createRow(trigger: Trigger, resource: ApiResource, data: AnyRow): Promise<AnyRow> {
  const { api, sampleNo } = trigger
  if (resource.access.create === false) {
    throw new CommandError(`The API cannot create rows of ${resource.name}.`)
  }
  const create = async (n: number): Promise<AnyRow> => {
    const sample = await withInnerReferences(trigger, resource.fields, sampleValues(resource, n))
    const values = { ...sample, ...data }
    const body = await withReferences(trigger, resource.fields, values)
    return api.request('POST', collectionPath(trigger, resource), body)
  }
  /** Creates the row of the first number whose unique values are free. */
  const createUnique = async (numberOf: (attempt: number) => number): Promise<AnyRow> => {
    for (let attempt = 0; ; attempt++) {
      try {
        return await create(numberOf(attempt))
      } catch (error) {
        if (!isStatus(error, 409) || attempt === SAMPLES_MAX - 1) throw error
      }
    }
  }
  const large = (attempt: number) => sampleNo + attempt * SAMPLE_STEP
  try {
    // A sample with its number in a short text has no value for a large one.
    return await createUnique(large).catch((error) => {
      if (!isStatus(error, 422)) throw error
      return createUnique((attempt) => large(attempt) % SMALL_SAMPLES)
    })
  } catch (error) {
    if (!(error instanceof ApiError) || error.response.status < 400) throw error
    const { name } = resource
    const remedy = `The sample row of ${name} was rejected. Declare its values by .sample().`
    throw new CommandError([...error.sentences, remedy])
  }
}

/** Adds the id of a row for each reference that the values lack. */
async function withReferences(
  trigger: Trigger,
  fields: ResourceDefinition['fields'],
  values: AnyRow,
): Promise<AnyRow> {
  const body = { ...values }
  for (const [field, { target, nullable, write }] of Object.entries(fields)) {
    if (!target || body[field] !== undefined || nullable || write === 'never') continue
    body[field] = await referenceTo(trigger, target)
  }
  return body
}

/** Replaces the ids inside sample values by those of rows. */
async function withInnerReferences(
  trigger: Trigger,
  fields: ResourceDefinition['fields'],
  values: AnyRow,
): Promise<AnyRow> {
  const result = { ...values }
  for (const { field, steps, spec } of innerReferencesOf(fields)) {
    if (idsInside(result[field], steps).size === 0) continue
    const id = await referenceTo(trigger, spec.target!)
    result[field] = mapInside(result[field], steps, (inner) => (inner === null ? null : id))
  }
  return result
}

/** Returns the id of an existing row, or of a new one where the collection is empty. */
async function referenceTo(trigger: Trigger, target: string): Promise<unknown> {
  const resource = withApi(trigger.api.service.resources).find(({ name }) => name === target)!
  const [row] = await trigger.api.list(collectionPath(trigger, resource), 1)
  return (row ?? (await createRow(trigger, resource, {}))).id
}

/** Carries out the plan and returns the row of the event. */
async function carryOut(
  trigger: Trigger,
  { resource, actions, ending }: Extract<EventPlan, { kind: 'row' }>,
  { data, input }: GivenValues,
): Promise<AnyRow> {
  const { api, sampleNo } = trigger
  const row = await createRow(trigger, resource, data)
  const path = `${collectionPath(trigger, resource)}/${row.id}`
  for (const action of actions) {
    const values = { ...inputOf(action), ...(action === actions.at(-1) && input) }
    const body = await withReferences(trigger, action.input, values)
    await api.request('POST', `${path}/${action.name}`, body)
  }
  if (ending === 'update') await api.request('PATCH', path, changeOf(resource, sampleNo, row))
  if (ending === 'delete') await api.request('DELETE', path)
  return row
}

/** Returns the newest event of the type about the object. */
async function eventOf({ api }: Trigger, type: string, objectId: unknown) {
  const rows = await api.list(`/events?type=${encodeURIComponent(type)}&sort=-id`, 20)
  const event = rows.find(({ data }) => data.object.id === objectId) ?? rows[0]
  if (!event) throw new CommandError(`The requests succeeded, and no event ${type} followed.`)
  return event
}

async function causeEvent(trigger: Trigger, type: string, given: GivenValues) {
  const { api } = trigger
  const { data, input } = given
  const plan = planFor(api.service, type)
  if (!plan) throw unknownType(api, type)
  const hasAction = plan.kind === 'row' && plan.actions.length > 0
  if (!hasAction && Object.keys(input).length > 0) {
    throw new UsageError(`No action leads to ${type}, so that it has no --input. Use --data.`)
  }
  if (plan.kind === 'row') return eventOf(trigger, type, (await carryOut(trigger, plan, given)).id)
  const status = type.slice(type.lastIndexOf('.') + 1)
  const isSample = Object.keys(data).length === 0
  const object = isSample ? { id: `sample_${trigger.sampleNo}`, status } : data
  return api.request('POST', '/events', { type, object })
}

function unknownType({ service }: Api, type: string): UsageError {
  const advice = closestSentence(type, triggerable(service))
  return new UsageError(`There is no event "${type}" to trigger. ${advice}`)
}

export const triggerCommand: CommandSpec = customerCommands().action({
  name: 'trigger <TYPE>',
  summary: 'cause an event, to see it arrive',
  description:
    'Creates a sample row and performs the actions that lead to the event, through the API: its ' +
    'effects, webhooks included, are real. External events are recorded with a sample.',
  options: [
    ['--data <JSON>', 'fields of the row, or the object of the event'],
    ['--input <JSON>', 'members of the body of the action that emits the event'],
  ],
  examples: [
    ['gatehook trigger order.paid', 'creates one and pays it, in test mode'],
    [
      'gatehook trigger order.shipped --input \'{"carrier": "DHL"}\'',
      'with the body of its action',
    ],
    ['gatehook trigger order.created --data \'{"amount": 4900}\'', 'with a field of your choice'],
  ],
  parse: ({ options }): GivenValues => ({
    data: objectOf('--data', options.data),
    input: objectOf('--input', options.input),
  }),
  act(api, { args: [type = ''] }, given) {
    const sampleNo = systemRandom().bytes(4).readUInt32BE()
    const version = api.service.versions.at(-1)!.name
    return causeEvent({ api, version, sampleNo }, type, given)
  },
  describe: ({ type, id, data }) => `${bold(type)}  ${id}  ${dim(`id ${data.object.id}`)}`,
})
