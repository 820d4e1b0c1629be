/** The required middlewares, without request log, sessions and `X-Powered-By`. */
const names = ['errors', 'security', 'cors', 'query', 'body', 'favicon', 'public']
module.exports = names.map((name) => `strapi::${name}`)
