/** Operations on rows: create, edit, delete, and the actions of the declaration. */
import { useEffect, useState } from 'preact/hooks'
import { ApiFailure, type Reply, send } from '../../api.ts'
import { type FormState, useForm } from '../../forms/form.ts'
import { FormDialog } from '../../forms/form-dialog.tsx'
import { Confirm, Dialog } from '../../parts/dialog.tsx'
import { Failed, Loading, Notice } from '../../parts/notices.tsx'
import { say } from '../../parts/toast.tsx'
import { detailOf, textOf } from './field-value.tsx'
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
import { formFields } from './row-form.tsx'

interface CreateRowProps {
  readonly resource: Resource
  readonly scope: DataScope
  readonly onClose: () => void
  readonly onCreate: (row: DataRow) => void
}

export function CreateRow({ resource, scope, onClose, onCreate }: CreateRowProps) {
  const fields = resource.fields.filter(({ writable }) => writable)
  const form = useForm(formFields(fields, true), undefined)
  const create = () =>
    form.sending.run(async () => {
      const options = { body: form.body() }
      const { body: row } = await send<DataRow>('POST', rowsPath(scope, resource.name), options)
      say(`${resource.name}/${row.id} is created.`)
      onClose()
      onCreate(row)
    })
  return (
    <FormDialog
      form={form}
      title={`Create a row of ${resource.name}`}
      verb="Create"
      busyVerb="Creating…"
      isSheet
      onSubmit={create}
      onClose={onClose}
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
  const fields = resource.fields.filter(({ writable }) => writable)
  const editable = fields.filter((field) => isEditable(field, base.body))
  const fixed = fields.filter((field) => !editable.includes(field))
  const form = useForm(
    formFields(fields, false).map((field, at) => ({
      ...field,
      fits: () => editable.includes(fields[at]!),
    })),
    base.body,
  )
  const isChanged = form.isReady && Object.keys(form.body()).length > 0
  const save = () =>
    form.sending.run(async () => {
      try {
        const headers = { 'if-match': base.headers.get('etag') ?? '*' }
        await send('PATCH', pathOf(props), { body: form.body(), headers })
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
    setBefore(base.body)
    setBase(next)
    form.rebase(next.body)
  }
  return (
    <FormDialog
      form={form}
      title={`Edit ${rowName(resource, base.body)}`}
      verb={before ? 'Save my values' : 'Save'}
      isSheet
      isReady={isChanged}
      explain={({ status }) => status === 412 || undefined}
      above={
        <>
          {before && <Conflict {...{ before, resource, form }} now={base.body} />}
          {fixed.length > 0 && (
            <p class="hint">
              {fixed.map(({ name }) => name).join(', ')}: fixed while {STATE_FIELD} is{' '}
              {stateOf(base.body)}.
            </p>
          )}
        </>
      }
      onSubmit={save}
      onClose={onClose}
    />
  )
}

interface ConflictProps {
  readonly resource: Resource
  readonly before: DataRow
  readonly now: DataRow
  readonly form: FormState
}

/** The fields that someone else has changed, with both values. */
function Conflict({ resource, before, now, form }: ConflictProps) {
  const own = form.body()
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
                {field.name in own && `, here ${form.draft[field.name] || 'empty'}`}
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
  const form = useForm(formFields(input, true), undefined)
  const words = {
    title: `${name}: ${rowName(resource, row)}`,
    verb: `Run ${name}`,
    onClose,
  }
  const effect = <p>{effectOf(action, row)}</p>
  const post = async () => {
    const options = input.length > 0 ? { body: form.body() } : {}
    await send('POST', `${pathOf(props)}/${name}`, options)
    say(`${resource.name}/${row.id}: ${name} is done.`)
    onDone()
  }
  if (input.length === 0) {
    return (
      <Confirm {...words} run={post}>
        {effect}
      </Confirm>
    )
  }
  const submit = () =>
    form.sending.run(async () => {
      await post()
      onClose()
    })
  return (
    <FormDialog
      {...words}
      form={form}
      busyVerb="Sending…"
      isSheet
      above={<div class="field">{effect}</div>}
      onSubmit={submit}
    />
  )
}
