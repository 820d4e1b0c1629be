/** `gatehook trigger TYPE`: causes an event by the API requests that lead to it. */
import { findClosest } from '../kernel/closest.ts'
import { systemRandom } from '../kernel/random.ts'
import type { AnyRow, ResourceDefinition } from '../resources/resource.ts'
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

/** Parses `--data`, a JSON object. */
function dataOf(text: unknown): AnyRow {
  if (text === undefined) return {}
  try {
    const value: unknown = JSON.parse(String(text))
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch {
    // the same error as for a JSON value of another type
  }
  throw new UsageError('--data is no JSON object. Quote it: --data \'{"amount": 4900}\'')
}

interface Trigger {
  readonly api: Api
  readonly version: string
  /** Number of the sample: random, so that unique fields differ from existing rows. */
  readonly sampleNo: number
}

const collectionPath = ({ version }: Trigger, { name }: ResourceDefinition) =>
  `/api/${version}/${name}`

/** Creates a row from the declared sample, and a row for each required reference. */
async function createRow(
  trigger: Trigger,
  resource: ResourceDefinition,
  data: AnyRow,
): Promise<AnyRow> {
  const { api, sampleNo } = trigger
  if (resource.access.create === false) {
    throw new CommandError(`The API cannot create rows of ${resource.name}.`)
  }
  const body: AnyRow = { ...sampleValues(resource, sampleNo), ...data }
  for (const [field, { target, nullable }] of Object.entries(resource.fields)) {
    if (!target || body[field] !== undefined || nullable) continue
    body[field] = await referenceTo(trigger, target)
  }
  try {
    return await api.request('POST', collectionPath(trigger, resource), body)
  } catch (error) {
    if (!(error instanceof ApiError) || error.response.status < 400) throw error
    const { name } = resource
    const remedy = `The sample row of ${name} was rejected. Declare its values by .sample().`
    throw new CommandError([...error.sentences, remedy])
  }
}

/** Returns the id of an existing row, or of a new one where the collection is empty. */
async function referenceTo(trigger: Trigger, target: string): Promise<unknown> {
  const resource = trigger.api.service.resources.find(({ name }) => name === target)!
  const [row] = await trigger.api.list(collectionPath(trigger, resource), 1)
  return (row ?? (await createRow(trigger, resource, {}))).id
}

/** Carries out the plan and returns the row of the event. */
async function carryOut(
  trigger: Trigger,
  { resource, actions, ending }: Extract<EventPlan, { kind: 'row' }>,
  data: AnyRow,
): Promise<AnyRow> {
  const { api, sampleNo } = trigger
  const row = await createRow(trigger, resource, data)
  const path = `${collectionPath(trigger, resource)}/${row.id}`
  for (const action of actions) await api.request('POST', `${path}/${action.name}`, inputOf(action))
  if (ending === 'update') await api.request('PATCH', path, changeOf(resource, sampleNo))
  if (ending === 'delete') await api.request('DELETE', path)
  return row
}

/** Returns the newest event of the type about the object. */
async function eventOf({ api }: Trigger, type: string, objectId: unknown) {
  const rows = await api.list(`/events?type=${encodeURIComponent(type)}&sort=-id`, 20)
  return rows.find((event) => event.data.object.id === objectId) ?? rows[0]
}

async function causeEvent(trigger: Trigger, type: string, data: AnyRow) {
  const { api } = trigger
  const plan = planFor(api.service, type)
  if (!plan) throw unknownType(api, type)
  if (plan.kind === 'row') return eventOf(trigger, type, (await carryOut(trigger, plan, data)).id)
  const status = type.slice(type.lastIndexOf('.') + 1)
  const isSample = Object.keys(data).length === 0
  const object = isSample ? { id: `sample_${trigger.sampleNo}`, status } : data
  return api.request('POST', '/events', { type, object })
}

function unknownType({ service }: Api, type: string): UsageError {
  const types = triggerable(service)
  const suggestion = findClosest(type, types)
  return new UsageError(
    `There is no event "${type}" to trigger. ` +
      (suggestion ? `Did you mean ${suggestion}?` : `There are: ${types.join(' ')}`),
  )
}

export const triggerCommand: CommandSpec = customerCommands().action({
  name: 'trigger <TYPE>',
  summary: 'cause an event, to see it arrive',
  description:
    'Creates a sample row and performs the actions that lead to the event, through the API: its ' +
    'effects, webhooks included, are real. External events are recorded with a sample.',
  options: [['--data <JSON>', 'fields of the row, or the object of the event']],
  examples: [
    ['gatehook trigger order.paid', 'creates one and pays it, in test mode'],
    ['gatehook trigger order.created --data \'{"amount": 4900}\'', 'with a field of your choice'],
  ],
  parse: ({ options }) => dataOf(options.data),
  act(api, { args: [type = ''] }, data) {
    const sampleNo = systemRandom().bytes(4).readUInt32BE()
    const version = api.service.versions.at(-1)!.name
    return causeEvent({ api, version, sampleNo }, type, data)
  },
  describe: ({ type, id, data }) => `${bold(type)}  ${id}  ${dim(`id ${data.object.id}`)}`,
})
