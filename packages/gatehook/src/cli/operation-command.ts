/**
 * A command that performs an operation of the API: method and path are those of the operation, and
 * its body gives the options (`body-options.ts`).
 */
import type { OperationData } from '../protocol/http/operation-data.ts'
import { type Api, ApiError, declaredScopes } from './api.ts'
import {
  type BodyDraft,
  type BodyJson,
  type BodyOptions,
  type BodyWords,
  bodyOptions,
} from './body-options.ts'
import type {
  ActionSpec,
  CommandDescription,
  CommandOption,
  CommandSpec,
  Input,
} from './command.ts'
import { type CommandError, UsageError } from './errors.ts'
import { type JsonBody, messagesOf } from './http-client.ts'

/** The parts of an operation that a service declares, before a service is loaded. */
export const ANY_SERVICE = { scopes: new Set<string>(), versions: [] } as const

/** Words of members that the command line understands further: a customer is found by its name. */
const SHARED: BodyWords = {
  customer: { meaning: 'its customer, by id or name (default: default)' },
  mode: { meaning: 'live (default) or test' },
}

interface OperationSpec<T> extends CommandDescription {
  readonly operation: Pick<OperationData, 'method' | 'path' | 'input'>
  /** Members that are arguments, in their order; those of the path come before. */
  readonly args?: readonly string[]
  readonly words?: BodyWords
  /** The whole body: the command has no options for it. */
  readonly body?: BodyJson
  /** Returns the id in the path. Default: the first argument. */
  readonly idOf?: (api: Api, text: string, input: Input) => Promise<string | number>
  /** Returns the body with further members. */
  readonly complete?: (body: BodyJson, api: Api, input: Input) => Promise<BodyJson> | BodyJson
  /** Returns the error with advice for the person at the terminal. */
  readonly explain?: (error: ApiError, api: Api) => CommandError
  /** Returns the result. Default: the body of the response. */
  readonly resultOf?: (reply: JsonBody, id: string) => T
  readonly describe: ActionSpec<Api, never, T, unknown>['describe']
  readonly exit?: (result: T) => number
}

/** The constructor of an action of the commands that send requests. */
interface Commands {
  readonly action: <T, Parsed>(spec: ActionSpec<Api, never, T, Parsed>) => CommandSpec
}

const CHANGES: ReadonlySet<string> = new Set(['PATCH', 'PUT'])

/** Returns the command of an operation. */
export function operationCommand<T = JsonBody>(
  commands: Commands,
  spec: OperationSpec<T>,
): CommandSpec {
  const { operation, args = [], words = {}, body: wholeBody, complete, ...others } = spec
  const { idOf, explain = (error: ApiError) => error, resultOf, ...action } = others
  const { method, path, input: members = {} } = operation
  const isChange = CHANGES.has(method)
  const arguments_ = Object.fromEntries(args.map((name) => [name, false as const]))
  const fields = bodyOptions(
    wholeBody ? {} : members,
    { ...SHARED, ...words, ...arguments_ },
    isChange,
  )
  const firstArg = path.includes(':') ? 1 : 0
  return commands.action<T, BodyDraft>({
    ...action,
    options: [...fields.options, ...(action.options ?? [])],
    parse(input) {
      const draft = fields.read(input)
      if (isChange && !wholeBody && draft.isEmpty && !complete) throw nothingChanges(fields.options)
      return draft
    },
    async act(api, input, draft) {
      const [scopes] = draft.missing
      if (scopes) throw new UsageError(`Missing: ${scopes}, of ${declaredWords(api)}`)
      const [text = ''] = input.args
      const id = String((await idOf?.(api, text, input)) ?? text)
      const given = args.map((name, at) => [name, input.args[firstArg + at]])
      const values = { ...Object.fromEntries(given), ...(await draft.at(api.now)), ...wholeBody }
      const body = complete ? await complete(values, api, input) : values
      const target = path.replace(/:\w+/, encodeURIComponent(id))
      try {
        const reply = await api.request(method, target, operation.input && body)
        return resultOf ? resultOf(reply, id) : reply
      } catch (error) {
        if (!(error instanceof ApiError)) throw error
        throw explain(inOptions(error, fields.optionAt, body), api)
      }
    },
  })
}

const declaredWords = (api: Api): string => [...declaredScopes(api)].sort().join(' ')

const nothingChanges = (options: readonly CommandOption[]): UsageError =>
  new UsageError(
    `Name what changes: ${options
      .filter(([, meaning]) => meaning)
      .map(([flags]) => flags.split(' ')[0])
      .join(', ')}.`,
  )

/** Returns the text of an item of a list, to which a pointer ends. */
function itemAt(pointer: string, json: BodyJson): string {
  const names = pointer.split('/').slice(1)
  const value = names.reduce<unknown>((inner, name) => (inner as BodyJson | null)?.[name], json)
  return /^\d+$/.test(names.at(-1) ?? '') && typeof value === 'string' ? ` "${value}"` : ''
}

/** Returns the error with the options in place of the members of the body. */
function inOptions(error: ApiError, optionAt: BodyOptions['optionAt'], json: BodyJson): ApiError {
  const { body, status } = error.response
  const mistakes: readonly JsonBody[] = body?.errors ?? []
  if (mistakes.length === 0) return error
  const errors = mistakes.map(({ pointer = '', ...mistake }) => ({
    ...mistake,
    pointer: optionAt(pointer)?.concat(itemAt(pointer, json)) ?? pointer,
  }))
  return new ApiError(messagesOf({ errors }, status), error.exit, error.response)
}
