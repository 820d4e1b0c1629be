/** Operations on rows: create, edit, delete, and the actions of the declaration. */
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { ApiFailure, type Reply, send } from '../../api.ts'
import { Confirm, Dialog } from '../../parts/dialog.tsx'
import { Form } from '../../parts/form.tsx'
import { Failed, Loading, Notice } from '../../parts/notices.tsx'
import { say } from '../../parts/toast.tsx'
import { useSend } from '../../use-send.ts'
import { detailOf, formTextOf, textOf } from './field-value.tsx'
import {
  type DataRow,
  type DataScope,
  type Resource,
  type ResourceAction,
  type ResourceField,
  rowName,
  rowsPath,
  STATE_FIELD,
  stateOf,
} from './resource-shapes.ts'
import { bodyOf, type FormTexts, isFormReady, patchOf, RowFields, textsOf } from './row-form.tsx'

interface FormDialogProps {
  readonly title: string
  readonly verb: string
  readonly busyVerb: string
  readonly fields: readonly ResourceField[]
  readonly texts: FormTexts
  readonly onChange: (texts: FormTexts) => void
  readonly isNew: boolean
  readonly isReady?: boolean
  readonly sending: ReturnType<typeof useSend>
  readonly onSubmit: () => void
  readonly onClose: () => void
  /** Above the fields. */
  readonly children?: ComponentChildren
}

/** A sheet with fields. A message of the server is at its field, any other one below. */
function FormDialog(props: FormDialogProps) {
  const { title, verb, busyVerb, fields, sending, onSubmit, onClose } = props
  const isReady = props.isReady !== false && isFormReady(fields, props.texts)
  const { isBusy, failure, messageOf } = sending
  const isAtField = fields.some(({ name }) => messageOf(`/${name}`) !== undefined)
  return (
    <Dialog
      title={title}
      isSheet
      onClose={onClose}
      submit={{
        verb,
        isDisabled: !isReady,
        busy: isBusy && busyVerb,
        run: () => isReady && onSubmit(),
      }}
    >
      {props.children && <div class="field">{props.children}</div>}
      <Form
        noValidate
        onSubmit={() => {
          if (isReady) onSubmit()
        }}
      >
        <RowFields
          fields={fields}
          texts={props.texts}
          onChange={props.onChange}
          messageOf={messageOf}
          isNew={props.isNew}
        />
        <input type="submit" hidden />
      </Form>
      {failure && failure.status !== 412 && !isAtField && <Failed failure={failure} />}
    </Dialog>
  )
}

interface CreateRowProps {
  readonly resource: Resource
  readonly scope: DataScope
  readonly onClose: () => void
  readonly onCreate: (row: DataRow) => void
}

export function CreateRow({ resource, scope, onClose, onCreate }: CreateRowProps) {
  const fields = resource.fields.filter(({ writable }) => writable)
  const [texts, setTexts] = useState(textsOf(fields))
  const sending = useSend()
  const create = () =>
    sending.run(async () => {
      const body = bodyOf(fields, texts)
      const reply = await send<DataRow>('POST', rowsPath(scope, resource.name), { body })
      say(`${resource.name}/${reply.body.id} is created.`)
      onClose()
      onCreate(reply.body)
    })
  return (
    <FormDialog
      title={`Create a row of ${resource.name}`}
      verb="Create"
      busyVerb="Creating…"
      isNew
      {...{ fields, texts, sending, onClose }}
      onChange={setTexts}
      onSubmit={create}
    />
  )
}

export interface RowOperationProps {
  readonly resource: Resource
  readonly scope: DataScope
  readonly row: DataRow
  readonly onClose: () => void
  readonly onDone: () => void
}

const pathOf = ({ resource, scope, row }: RowOperationProps): string =>
  `${rowsPath(scope, resource.name)}/${row.id}`

const isEditable = ({ writable, editable_in: states }: ResourceField, row: DataRow): boolean =>
  writable && (states?.includes(stateOf(row) ?? '') ?? true)

/** A row with the entity tag that a change of it names. */
type TaggedRow = Reply<DataRow>

/** Edits the row as it is now. After a change by someone else both values are displayed. */
export function EditRow(props: RowOperationProps) {
  const { resource, row, onClose } = props
  const [current, setCurrent] = useState<TaggedRow>()
  const [failure, setFailure] = useState<ApiFailure>()
  useEffect(() => {
    send<DataRow>('GET', pathOf(props)).then(setCurrent, (error) => {
      if (!(error instanceof ApiFailure)) throw error
      setFailure(error)
    })
  }, [])
  if (current) return <EditForm {...props} current={current} />
  return (
    <Dialog title={`Edit ${rowName(resource, row)}`} isSheet onClose={onClose}>
      {failure ? <Failed failure={failure} /> : <Loading subject="the row" />}
    </Dialog>
  )
}

interface EditFormProps extends RowOperationProps {
  readonly current: TaggedRow
}

function EditForm({ current, ...props }: EditFormProps) {
  const { resource, onClose, onDone } = props
  const [base, setBase] = useState(current)
  /** The row as it was before someone else changed it. */
  const [before, setBefore] = useState<DataRow>()
  const fields = resource.fields.filter((field) => isEditable(field, base.body))
  const [texts, setTexts] = useState(textsOf(fields, base.body))
  const sending = useSend()
  const fixed = resource.fields.filter((field) => field.writable && !fields.includes(field))
  const patch = isFormReady(fields, texts) ? patchOf(fields, texts, base.body) : {}
  const save = () =>
    sending.run(async () => {
      try {
        const headers = { 'if-match': base.headers.get('etag') ?? '*' }
        await send('PATCH', pathOf(props), { body: patch, headers })
      } catch (error) {
        if (error instanceof ApiFailure && error.status === 412) await adopt()
        throw error
      }
      say(`${rowName(resource, base.body)} is saved.`)
      onDone()
      onClose()
    })
  /** Continues from the changed row, with the texts that this form has changed. */
  const adopt = async () => {
    const next = await send<DataRow>('GET', pathOf(props))
    const own = Object.keys(patch).map((name) => [name, texts[name]!] as const)
    setBefore(base.body)
    setBase(next)
    setTexts({ ...textsOf(resource.fields, next.body), ...Object.fromEntries(own) })
  }
  return (
    <FormDialog
      title={`Edit ${rowName(resource, base.body)}`}
      verb={before ? 'Save my values' : 'Save'}
      busyVerb="Saving…"
      isNew={false}
      isReady={Object.keys(patch).length > 0}
      {...{ fields, texts, sending, onClose }}
      onChange={setTexts}
      onSubmit={save}
    >
      {before && <Conflict {...{ before, resource, texts }} now={base.body} />}
      {fixed.length > 0 && (
        <p class="hint">
          {fixed.map(({ name }) => name).join(', ')}: fixed while {STATE_FIELD} is{' '}
          {stateOf(base.body)}.
        </p>
      )}
    </FormDialog>
  )
}

interface ConflictProps {
  readonly resource: Resource
  readonly before: DataRow
  readonly now: DataRow
  readonly texts: FormTexts
}

/** The fields that someone else has changed, with both values. */
function Conflict({ resource, before, now, texts }: ConflictProps) {
  const changed = resource.fields.filter(
    ({ name, writable }) => writable && textOf(before[name]) !== textOf(now[name]),
  )
  return (
    <Notice tone="warn" word="Changed" role="alert">
      Someone has changed this row since you opened it. Nothing is saved yet.
      {changed.length > 0 && (
        <dl class="kv">
          {changed.map((field) => (
            <>
              <dt class="mono">{field.name}</dt>
              <dd>
                now {detailOf(field, now[field.name])}
                {texts[field.name] !== formTextOf(field, now[field.name]) &&
                  `, here ${texts[field.name] || 'empty'}`}
              </dd>
            </>
          ))}
        </dl>
      )}
    </Notice>
  )
}

export function DeleteRow(props: RowOperationProps) {
  const { resource, row, onClose, onDone } = props
  const id = `${resource.name}/${row.id}`
  return (
    <Confirm
      title={`Delete ${rowName(resource, row)}`}
      verb="Delete"
      busyVerb="Deleting…"
      typed={id}
      isDangerous
      onClose={onClose}
      run={async () => {
        await send('DELETE', pathOf(props))
        say(`${id} is deleted.`)
        onDone()
      }}
    >
      <p>The row is deleted. You cannot take it back, and its id is not used again.</p>
    </Confirm>
  )
}

interface RunActionProps extends RowOperationProps {
  readonly action: ResourceAction
}

/** Returns the effect of an action in words. */
function effectOf({ to, emits }: ResourceAction, row: DataRow): string {
  const change = to ? `${STATE_FIELD} changes from ${stateOf(row)} to ${to}.` : 'The row changes.'
  if (emits === null) return `${change} It records no event.`
  return `${change} The event ${emits} goes to every endpoint of the customer that receives it.`
}

export function RunAction(props: RunActionProps) {
  const { resource, row, action, onClose, onDone } = props
  const { name, input } = action
  const [texts, setTexts] = useState(textsOf(input))
  const sending = useSend()
  const title = `${name}: ${rowName(resource, row)}`
  const verb = `Run ${name}`
  const post = async () => {
    const body = bodyOf(input, texts)
    const options = input.length > 0 ? { body } : {}
    await send('POST', `${pathOf(props)}/${name}`, options)
    say(`${resource.name}/${row.id}: ${name} is done.`)
    onDone()
  }
  if (input.length === 0) {
    return (
      <Confirm title={title} verb={verb} run={post} onClose={onClose}>
        <p>{effectOf(action, row)}</p>
      </Confirm>
    )
  }
  const submit = () =>
    sending.run(async () => {
      await post()
      onClose()
    })
  return (
    <FormDialog
      title={title}
      verb={verb}
      busyVerb="Sending…"
      isNew
      fields={input}
      {...{ texts, sending, onClose }}
      onChange={setTexts}
      onSubmit={submit}
    >
      <p>{effectOf(action, row)}</p>
    </FormDialog>
  )
}
