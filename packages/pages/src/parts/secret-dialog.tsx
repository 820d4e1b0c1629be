/** The dialog that displays a new secret once. It closes only by the button that says so. */
import type { ComponentChildren } from 'preact'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { Secret } from './secret.tsx'

interface SecretDialogProps {
  readonly title: string
  /** The kind of the secret: `Key`. */
  readonly label: string
  readonly value: string
  readonly hint: string
  readonly onClose: () => void
  readonly children?: ComponentChildren
}

export const SecretDialog = ({ title, onClose, children, ...secret }: SecretDialogProps) => (
  <Dialog
    title={title}
    onClose={onClose}
    isRequired
    footer={
      <Button kind="first" onClick={onClose}>
        I have stored it
      </Button>
    }
  >
    <Secret {...secret} />
    {children}
  </Dialog>
)
