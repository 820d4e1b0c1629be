/** Dialogs and sheets: `<dialog>` with `showModal`. The safe button has the focus. */
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { ApiFailure } from '../api.ts'
import { Button } from './button.tsx'
import { Field } from './field.tsx'
import { Failed } from './notices.tsx'

interface DialogSubmit {
  readonly verb: string
  readonly run: () => void
  /** The words while the server works: `Saving…`. */
  readonly busy: string | false
  readonly isDisabled?: boolean
  readonly kind?: 'first' | 'danger first'
}

const SubmitOrCancel = ({ submit, onClose }: { submit: DialogSubmit; onClose: () => void }) => (
  <>
    <Button onClick={onClose}>Cancel</Button>
    <Button
      kind={submit.kind ?? 'first'}
      disabled={submit.isDisabled ?? false}
      busy={submit.busy}
      onClick={submit.run}
    >
      {submit.verb}
    </Button>
  </>
)

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ComponentChildren
  /** The button that sends the form, beside *Cancel*. */
  readonly submit?: DialogSubmit | undefined
  /** A footer of another form. */
  readonly footer?: ComponentChildren
  /** A panel at the right edge, for forms. */
  readonly isSheet?: boolean
  /** Runs before the dialog closes by Escape or *Close*; false: it stays open. */
  readonly mayClose?: () => boolean
  /** Without a button that closes. */
  readonly isRequired?: boolean
}

/** Opens when it is mounted; its owner removes it in `onClose`. */
export function Dialog(props: DialogProps) {
  const { title, onClose, children, submit, isSheet, mayClose, isRequired } = props
  const footer = submit ? <SubmitOrCancel submit={submit} onClose={onClose} /> : props.footer
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  const isGone = useRef(false)
  useEffect(() => {
    const dialog = ref.current
    if (dialog && !dialog.open) dialog.showModal()
    return () => {
      isGone.current = true
      dialog?.close()
    }
  }, [])
  const close = () => {
    if (mayClose?.() !== false) onClose()
  }
  return (
    <dialog
      ref={ref}
      class={isSheet ? 'sheet' : undefined}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        if (!isRequired) close()
      }}
      // A browser closes a dialog at the second Escape, whatever `cancel` decides.
      onClose={() => {
        if (isGone.current) return
        if (isRequired) ref.current?.showModal()
        else onClose()
      }}
    >
      <header>
        <h2 id={id}>{title}</h2>
        {!isRequired && (
          <Button kind="quiet" size="tiny" class="right" onClick={close}>
            Close
          </Button>
        )}
      </header>
      <div class="body">{children}</div>
      {footer && <footer>{footer}</footer>}
    </dialog>
  )
}

interface ConfirmProps {
  readonly title: string
  /** The effect of the operation, with numbers. */
  readonly children: ComponentChildren
  /** The verb on the button: `Revoke`. */
  readonly verb: string
  readonly busyVerb?: string
  /** The name to type before an operation that cannot be undone. */
  readonly typed?: string | undefined
  readonly isDangerous?: boolean
  /** Sends the request. A failure is displayed in the dialog. */
  readonly run: () => Promise<void>
  readonly onClose: () => void
}

/** Confirms an operation. The dialog closes when the server has confirmed it. */
export function Confirm(props: ConfirmProps) {
  const { title, children, verb, busyVerb = 'Sending…', typed, isDangerous, run, onClose } = props
  const [text, setText] = useState('')
  const [isBusy, setBusy] = useState(false)
  const [failure, setFailure] = useState<ApiFailure>()
  const isReady = typed === undefined || text === typed
  const confirm = async () => {
    setBusy(true)
    setFailure(undefined)
    try {
      await run()
      onClose()
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error
      setFailure(error)
      setBusy(false)
    }
  }
  const kind = isDangerous ? 'danger first' : 'first'
  return (
    <Dialog
      title={title}
      onClose={onClose}
      footer={
        <>
          <Button autofocus={typed === undefined} onClick={onClose}>
            Cancel
          </Button>
          <Button kind={kind} disabled={!isReady} busy={isBusy && busyVerb} onClick={confirm}>
            {verb}
          </Button>
        </>
      }
    >
      {children}
      {typed !== undefined && (
        <Field
          label={`Type ${typed} to confirm`}
          value={text}
          onInput={setText}
          autocomplete="off"
          autofocus
        />
      )}
      {failure && <Failed failure={failure} />}
    </Dialog>
  )
}
