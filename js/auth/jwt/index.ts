/**
 * Authentication by bearer tokens: verifies JSON Web Tokens of one issuer with `jose`, and serves
 * the metadata that tells clients where to get one.
 *
 * @packageDocumentation
 */
export { type JwtAuthorization, type JwtOptions, jwtAuthorizer } from './jwt-authorizer.js';
export { type ProtectedResourceOptions, createProtectedResourceHandler } from './protected-resource.js';
