/** `gatehook trigger TYPE`: an event really happens, by the calls of the API that lead to it. */
import { closest } from '../config/closest.ts'
import { systemRandom } from '../kernel/random.ts'
import type { AnyRow, Definition } from '../resources/resource.ts'
import { type Api, apiCommands } from './api.ts'
import type { CommandSpec } from './command.ts'
import { CommandError, UsageError } from './mistake.ts'
import { bold, dim } from './output.ts'
import { changeOf, inputOf, type Plan, planFor, triggerable } from './sample-event.ts'

/** Members of `--data`, a JSON object. */
function dataOf(text: unknown): AnyRow {
  if (text === undefined) return {}
  try {
    const value: unknown = JSON.parse(String(text))
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch {
    // told below
  }
  throw new UsageError('--data is no JSON object. Quote it: --data \'{"amount": 4900}\'')
}

interface Making {
  readonly api: Api
  readonly version: string
  /** Which sample: any number, so that unique fields differ from what is there. */
  readonly n: number
}

const collection = ({ version }: Making, { name }: Definition) => `/api/${version}/${name}`

/** A new row from the declaration's sample, with a row for each reference it needs. */
async function makeRow(making: Making, resource: Definition, data: AnyRow): Promise<AnyRow> {
  const { api, n } = making
  if (resource.access.create === false) {
    throw new CommandError(`Rows of ${resource.name} cannot be made by the API.`)
  }
  const body: AnyRow = { ...resource.sample?.(n), ...data }
  for (const [field, { target, nullable }] of Object.entries(resource.fields)) {
    if (!target || body[field] !== undefined || nullable) continue
    body[field] = await referenced(making, target)
  }
  return api.call('POST', collection(making, resource), body)
}

async function referenced(making: Making, target: string): Promise<unknown> {
  const resource = making.api.service.resources.find(({ name }) => name === target)!
  const path = `${collection(making, resource)}?limit=1`
  const [row] = (await making.api.call('GET', path)).data
  return (row ?? (await makeRow(making, resource, {}))).id
}

/** Gives the row whose event it was. */
async function perform(
  making: Making,
  { resource, actions, ending }: Extract<Plan, { kind: 'row' }>,
  data: AnyRow,
): Promise<AnyRow> {
  const { api, n } = making
  const row = await makeRow(making, resource, data)
  const path = `${collection(making, resource)}/${row.id}`
  for (const action of actions) await api.call('POST', `${path}/${action.name}`, inputOf(action))
  if (ending === 'update') await api.call('PATCH', path, changeOf(resource, n))
  if (ending === 'delete') await api.call('DELETE', path)
  return row
}

/** The newest event of the type about the object. */
async function eventOf({ api }: Making, type: string, objectId: unknown) {
  const path = `/events?type=${encodeURIComponent(type)}&sort=-id&limit=20`
  const { data } = await api.call('GET', path)
  return data.find((one: AnyRow) => one.data.object.id === objectId) ?? data[0]
}

async function trigger(making: Making, type: string, data: AnyRow) {
  const { api } = making
  const plan = planFor(api.service, type)
  if (!plan) throw unknownType(api, type)
  if (plan.kind === 'row') return eventOf(making, type, (await perform(making, plan, data)).id)
  const status = type.slice(type.lastIndexOf('.') + 1)
  const object = Object.keys(data).length > 0 ? data : { id: `sample_${making.n}`, status }
  return api.call('POST', '/events', { type, object })
}

function unknownType({ service }: Api, type: string): UsageError {
  const known = triggerable(service)
  const meant = closest(type, known)
  return new UsageError(
    `There is no event "${type}" to trigger. ` +
      (meant ? `Did you mean ${meant}?` : `There are: ${known.join(' ')}`),
  )
}

const about = ({ data }: AnyRow): string => `id ${data.object.id}`

export const triggerCommand: CommandSpec = apiCommands().act({
  name: 'trigger <TYPE>',
  summary: 'make an event happen, to see it arrive',
  description:
    'Makes a sample row and takes it through the actions that lead to the event, by the API: ' +
    'what follows from it, webhooks included, is real. External events are recorded with a sample.',
  options: [['--data <JSON>', 'fields of the row, or the object of the event']],
  examples: [
    ['gatehook trigger order.paid', 'a new one is made and paid, in test mode'],
    ['gatehook trigger order.created --data \'{"amount": 4900}\'', 'with what you need'],
  ],
  act({ args: [type = ''], options }) {
    const data = dataOf(options.data)
    const n = systemRandom().bytes(4).readUInt32BE()
    return (to) => {
      const version = to.service.versions.at(-1)!.name
      return trigger({ api: to, version, n }, type, data)
    }
  },
  said: (event) => `${bold(event.type)}  ${event.id}  ${dim(about(event))}`,
})
