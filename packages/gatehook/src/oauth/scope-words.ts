/** What a scope lets an application do, as a person reads it (§5.2). Pure. */
import { accountScopes, isAccountScope } from '../access/scopes.ts'

const verbs: Readonly<Record<string, (what: string) => string>> = {
  read: (what) => `See your ${what}`,
  write: (what) => `Create, change and delete your ${what}`,
  all: (what) => `Reach the ${what} of everybody in this account, not only yours`,
}

/** A sentence without a full stop. Account scopes name the customer they act for (§3.6). */
export function scopeInWords(scope: string, customer: string): string {
  if (isAccountScope(scope)) return accountScopes[scope]!(customer)
  const [what = '', verb = '', ...more] = scope.split(':')
  const words = what.replaceAll('_', ' ')
  if (more.length > 0 || words === '' || verb === '') return `Use “${scope}”`
  const sentence = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined
  if (sentence) return sentence(words)
  const act = verb.replaceAll('_', ' ')
  return `${act[0]!.toUpperCase()}${act.slice(1)} your ${words}`
}
