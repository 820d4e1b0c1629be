/** Those Strapi does not start without; its log of requests, sessions and power are left out. */
const names = ['errors', 'security', 'cors', 'query', 'body', 'favicon', 'public']
module.exports = names.map((name) => `strapi::${name}`)
