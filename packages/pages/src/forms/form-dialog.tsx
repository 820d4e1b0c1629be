/** The dialog of a form, and that of an operation, whose fields follow from its body. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { ApiFailure } from '../api.ts'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Form } from '../parts/form.tsx'
import { Failed } from '../parts/notices.tsx'
import { SecretDialog } from '../parts/secret-dialog.tsx'
import type { JsonObject } from './draft.ts'
import { type FormState, type OperationFormProps, useOperationForm } from './form.ts'
import { FormFields } from './form-fields.tsx'

interface DialogWords {
  readonly title: string
  /** The verb on the button that sends the form. */
  readonly verb?: string
  /** The words while the server works. */
  readonly busyVerb?: string
  /** A panel at the right edge. */
  readonly isSheet?: boolean
  /** Whether the button is below the fields. */
  readonly isInline?: boolean
  /** Above the fields. */
  readonly above?: ComponentChildren
  /** Below the fields. */
  readonly below?: (form: FormState) => ComponentChildren
  /** Displayed instead of a failure that no field displays. */
  readonly explain?: (failure: ApiFailure) => ComponentChildren
  readonly onClose: () => void
}

interface FormDialogProps extends DialogWords {
  readonly form: FormState
  readonly isReady?: boolean
  readonly onSubmit: () => void
}

export function FormDialog({ form, onSubmit, ...props }: FormDialogProps) {
  const { verb = 'Save', busyVerb = 'Saving…', isInline, onClose, above, explain } = props
  const { failure, isBusy } = form.sending
  const isReady = form.isReady && props.isReady !== false
  const run = () => {
    if (isReady) onSubmit()
  }
  const kind = form.draft.force === true ? 'danger first' : 'first'
  const busy = isBusy && busyVerb
  const failed = failure && !form.isAtField && (explain?.(failure) ?? <Failed failure={failure} />)
  return (
    <Dialog
      title={props.title}
      onClose={onClose}
      isSheet={props.isSheet ?? false}
      submit={isInline ? undefined : { verb, kind, busy, run, isDisabled: !isReady }}
    >
      {!isInline && above}
      {/* The button of a dialog is outside the form: the server validates, also after Enter. */}
      <Form onSubmit={run} noValidate={!isInline}>
        {isInline && failed}
        {isInline && above}
        <FormFields form={form} />
        {props.below?.(form)}
        {isInline ? (
          <Button kind={kind} type="submit" busy={busy}>
            {verb}
          </Button>
        ) : (
          <input type="submit" hidden />
        )}
      </Form>
      {!isInline && failed}
    </Dialog>
  )
}

/** A secret of a response. */
interface NewSecret {
  readonly title: string
  readonly label: string
  readonly value: string
  readonly hint: string
  readonly children?: ComponentChildren
}

export interface OperationDialogProps<Reply> extends OperationFormProps, DialogWords {
  /** The path of the request. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** Runs after the response. The dialog stays open. */
  readonly done: (reply: Reply, body: JsonObject) => void
  /** Returns the secret of the response, which the dialog then displays once. */
  readonly secret?: (reply: Reply, body: JsonObject) => NewSecret | undefined
}

export function OperationDialog<Reply = unknown>(props: OperationDialogProps<Reply>) {
  const form = useOperationForm(props)
  const [secret, setSecret] = useState<NewSecret>()
  const done = (reply: Reply, body: JsonObject) => {
    setSecret(props.secret?.(reply, body))
    props.done(reply, body)
  }
  if (secret) return <SecretDialog {...secret} onClose={props.onClose} />
  const submit = () => void form.submit(props.path, done, props.headers)
  return <FormDialog {...props} form={form} onSubmit={submit} />
}
