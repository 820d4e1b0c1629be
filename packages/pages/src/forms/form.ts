/**
 * The state of a form. The fields of an operation follow from its body: a new member of the body is
 * a field below the others.
 */

import { bodies } from 'virtual:operation-bodies'
import { useState } from 'preact/hooks'
import { send } from '../api.ts'
import { useSend } from '../use-send.ts'
import { bodyOf, type Draft, draftOf, type JsonObject, mistakeIn } from './draft.ts'
import { errorIn, fieldsOf, type NamedField, type Words } from './field-words.ts'
import type { BodyMember } from './operation-body.ts'

/** Returns the content without the values of sets that other fields exclude. */
function permitted(fields: readonly NamedField[], draft: Draft): Draft {
  const narrowed = fields.flatMap(({ name, permits }) => {
    const value = draft[name]
    if (!permits || !(value instanceof Set)) return []
    return [[name, new Set([...value].filter((each) => permits(each, draft)))]]
  })
  return { ...draft, ...Object.fromEntries(narrowed) }
}

export interface FormState {
  readonly fields: readonly NamedField[]
  readonly draft: Draft
  readonly change: (change: Draft) => void
  readonly isReady: boolean
  readonly sending: ReturnType<typeof useSend>
  /** Returns the server's message on a member: `/name`. */
  readonly messageOf: (pointer: string) => string | undefined
  /** Whether a field displays the failure. */
  readonly isAtField: boolean
  /** The body of the request. */
  readonly body: () => JsonObject
  /** Continues from other values of the object, with the changes of this form. */
  readonly rebase: (row: object) => void
}

/** `row` is the object to change; undefined: a new one, which has `values` at first. */
export function useForm(
  all: readonly NamedField[],
  row: object | undefined,
  values: object = {},
  pointer = '',
): FormState {
  const isNew = row === undefined
  const [start, setStart] = useState(() => draftOf(all, row ?? values))
  const [draft, setDraft] = useState(start)
  const sending = useSend()
  const { failure, messageOf } = sending
  const fields = all.filter(
    ({ name, fits, after }) =>
      (fits?.(draft) ?? true) && (!after || after === failure?.code || draft[name] === true),
  )
  const messageIn = (path: string) => messageOf(pointer + path)
  const errorOf = (field: NamedField) => errorIn(field, draft, messageIn(`/${field.name}`))
  const body = () => bodyOf(fields, permitted(fields, draft), start, isNew)
  return {
    fields,
    draft,
    change: (change) => setDraft((now) => ({ ...now, ...change })),
    isReady: fields.every((field) => mistakeIn(field, draft) === undefined),
    sending,
    messageOf: messageIn,
    isAtField: fields.some((field) => errorOf(field) !== undefined),
    body,
    rebase(next) {
      const own = Object.keys(body()).map((name) => [name, draft[name]!])
      setStart(draftOf(all, next))
      setDraft({ ...draftOf(all, next), ...Object.fromEntries(own) })
    },
  }
}

/** A form of an object in the body. */
interface Within {
  readonly member: string
  readonly pointer: string
}

export interface OperationFormProps {
  /** The id of the operation: `create_key`. */
  readonly operation: string
  /** The words of single fields, in their order; fields without are after them. */
  readonly words?: Words
  /** Words that several forms share. */
  readonly shared?: Words
  /** Members without a field. */
  readonly omit?: readonly string[]
  /** Default: every member. */
  readonly only?: readonly string[]
  /** The object in the body that the form has. Default: the body. */
  readonly within?: Within
  /** The object to change; undefined: a new one. */
  readonly row?: object | undefined
  /** The first values of a new object. */
  readonly values?: object
  /** Members that the page sets. */
  readonly fixed?: object
  /** Fields that no request has. */
  readonly extra?: readonly BodyMember[]
  /** Returns the body with members that follow from the content of the form. */
  readonly complete?: (body: JsonObject, draft: Draft) => JsonObject
}

function fieldsOfOperation(props: OperationFormProps): readonly NamedField[] {
  const { operation, words = {}, shared, omit = [], only, within, fixed = {}, extra = [] } = props
  const { members } = bodies[operation]!
  const all = within ? members.find(({ name }) => name === within.member)!.members! : members
  const own = all.filter(
    ({ name }) => (only?.includes(name) ?? true) && !omit.includes(name) && !(name in fixed),
  )
  const locals = extra.map((member) => ({ ...member, isLocal: true }))
  return fieldsOf([...locals, ...own], shared ?? {}, words)
}

interface OperationForm extends FormState {
  /** Sends the body to a path; `done` gets the response and the body. */
  readonly submit: <Reply>(
    path: string,
    done: (reply: Reply, body: JsonObject) => void,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<void>
}

export function useOperationForm(props: OperationFormProps): OperationForm {
  const { operation, within, row, values, fixed, complete } = props
  const form = useForm(fieldsOfOperation(props), row, values, within?.pointer)
  return {
    ...form,
    submit: (path, done, headers = {}) =>
      form.sending.run(async () => {
        const own = form.body()
        const body = { ...fixed, ...(complete?.(own, form.draft) ?? own) }
        const reply = await send(bodies[operation]!.method, path, { body, headers })
        done(reply.body as never, body)
      }),
  }
}
