/** Copies a text to the clipboard, and confirms it. */
import { say } from './toast.tsx'

interface CopyProps {
  readonly text: string
  /** For screen readers: `request id`. */
  readonly subject?: string
  readonly label?: string
  /** A button, which the key `c` presses as well. */
  readonly isCurl?: boolean
}

export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
    say(`Copied: ${text.split('\n')[0]!.slice(0, 60)}`)
  } catch {
    say('The browser does not allow copying. Select the text instead.')
  }
}

export const Copy = ({ text, subject, label = 'Copy', isCurl }: CopyProps) => (
  <button
    type="button"
    class={isCurl ? 'btn tiny' : 'copy'}
    data-curl={isCurl}
    onClick={() => copyText(text)}
  >
    {label}
    {subject && <span class="vh"> {subject}</span>}
  </button>
)
