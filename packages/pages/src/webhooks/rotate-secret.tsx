/** The dialog that generates a new signing secret. The old one signs as well for an overlap. */
import type { Words } from '../forms/field-words.ts'
import { OperationDialog } from '../forms/form-dialog.tsx'
import { USUAL_OVERLAP } from '../overlaps.ts'
import { signingSecret } from './endpoint-form.tsx'

interface RotateSecretProps {
  /** The path of the endpoint. */
  readonly path: string
  readonly onClose: () => void
  readonly onDone: () => void
}

const words: Words = {
  overlap_seconds: {},
  force: {
    label: 'End the rotation that runs: the oldest secret signs no longer',
    hint: null,
    after: 'rotation_in_progress',
  },
}

export const RotateSecret = ({ path, onClose, onDone }: RotateSecretProps) => (
  <OperationDialog<{ readonly secret: string }>
    operation="rotate_webhook_secret"
    path={`${path}/rotate-secret`}
    title="Rotate the signing secret"
    verb="Rotate"
    busyVerb="Rotating…"
    words={words}
    values={USUAL_OVERLAP}
    above={
      <p>Both secrets sign until the old secret ends, so that the receiver can change over.</p>
    }
    done={onDone}
    secret={({ secret }) => signingSecret('The new signing secret', secret)}
    onClose={onClose}
  />
)
