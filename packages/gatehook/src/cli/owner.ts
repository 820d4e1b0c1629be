/**
 * The customer and mode that a command line names: a customer by id, external id or name, and the
 * owner of an object by the id of the object.
 */
import { DEFAULT_CUSTOMER } from '../identity/access/administration.ts'
import type { Mode } from '../kernel/principal.ts'
import type { Input } from './command.ts'
import { CommandError, UsageError } from './errors.ts'
import type { JsonBody } from './http-client.ts'

/** The requests of an administrator that find customers and objects. */
export interface Finder {
  request(method: string, path: string): Promise<JsonBody>
  list(path: string, max?: number): Promise<JsonBody[]>
}

export interface Owner {
  readonly customer: string
  readonly mode: Mode
}

const IDS = /^cus_\w+(?:,cus_\w+)*$/
const MAX_NAMED = 5

/**
 * Returns the id of the customer with this id, external id or name; `default` names the default
 * customer, and several ids with commas stay a list. Throws `UsageError` unless it is exactly one.
 */
export async function customerIdOf(finder: Finder, text: string): Promise<string> {
  const id = text === 'default' ? DEFAULT_CUSTOMER : text
  const find = (filter: Record<string, string>, max?: number) =>
    finder.list(`/admin/customers?${new URLSearchParams(filter)}`, max)
  if (IDS.test(id)) {
    const matches = await find({ 'id[in]': id })
    const ids = new Set(matches.map((row) => row.id))
    const unknown = id.split(',').find((part) => !ids.has(part))
    if (unknown === undefined) return id
    throw new UsageError(`There is no customer ${unknown}. List them: gatehook customers list`)
  }
  const byExternalId = await find({ external_id: text }, 1)
  const matches = byExternalId.length > 0 ? byExternalId : await find({ name: text }, MAX_NAMED)
  if (matches.length === 1) return matches[0].id
  throw new UsageError(
    matches.length === 0
      ? `There is no customer "${text}". List ids and names: gatehook customers list`
      : `Several customers have the name "${text}": ${matches.map((row) => row.id).join(', ')}. ` +
          'Give an id: gatehook customers list',
  )
}

/** Returns the command line with the id of the customer that `--customer` names. */
export async function withCustomerId(finder: Finder, input: Input): Promise<Input> {
  const { customer } = input.options
  if (customer === undefined) return input
  const id = await customerIdOf(finder, String(customer))
  return { ...input, options: { ...input.options, customer: id } }
}

/** Ids of objects of one customer and mode, which the search of an administrator finds. */
const OBJECT_ID = /^(?:wh|dlv|evt)_\w{1,90}$/

async function ownerOfObject(finder: Finder, id: string): Promise<Owner | undefined> {
  if (!OBJECT_ID.test(id)) return undefined
  const { data } = await finder.request('GET', `/admin/search?q=${id}`)
  return data.find((hit: JsonBody) => hit.id === id && hit.customer !== null)
}

/**
 * Returns the customer and mode of a command on the data of one customer: those of the object that
 * it names, else `--customer` and `--mode`, else the test data of the default customer. Throws
 * `CommandError` if the options name another owner than that of the object.
 */
export async function ownerOf(finder: Finder, input: Input, mode?: Mode): Promise<Owner> {
  const { customer } = (await withCustomerId(finder, input)).options
  const [id] = input.args
  const owner = typeof id === 'string' ? await ownerOfObject(finder, id) : undefined
  if (!owner) return { customer: String(customer ?? DEFAULT_CUSTOMER), mode: mode ?? 'test' }
  if ((customer ?? owner.customer) === owner.customer && (mode ?? owner.mode) === owner.mode) {
    return { customer: owner.customer, mode: owner.mode }
  }
  throw new CommandError(
    `${id} belongs to other data. Name it: --mode ${owner.mode} --customer ${owner.customer}`,
  )
}
