/** What a scope lets an application do, as a person reads it (§5.2). Pure. */

const own: Readonly<Record<string, string>> = {
  'webhooks:read': 'See webhooks and what was delivered to them',
  'webhooks:write': 'Create, change and delete webhooks',
  'events:read': 'See what happened: the events of this account',
  'events:write': 'Record events of its own in this account',
  'tokens:introspect': 'Ask what a token is good for',
  admin: 'Administer this whole installation: everything of every customer',
}

const verbs: Readonly<Record<string, (what: string) => string>> = {
  read: (what) => `See your ${what}`,
  write: (what) => `Create, change and delete your ${what}`,
  all: (what) => `Reach the ${what} of everybody in this account, not only yours`,
}

/** A sentence without a full stop. */
export function scopeInWords(scope: string): string {
  const known = own[scope]
  if (known !== undefined) return known
  const [what = '', verb = '', ...more] = scope.split(':')
  const words = what.replaceAll('_', ' ')
  if (more.length > 0 || words === '' || verb === '') return `Use “${scope}”`
  const sentence = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined
  if (sentence) return sentence(words)
  const act = verb.replaceAll('_', ' ')
  return `${act[0]!.toUpperCase()}${act.slice(1)} your ${words}`
}
