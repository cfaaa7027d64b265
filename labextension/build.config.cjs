const { rspack } = require('@rspack/core');

/** How the builder minifies the extension: for the browsers that JupyterLab supports, which makes it smaller than the defaults. */
module.exports = {
  optimization: {
    minimizer: [
      new rspack.SwcJsMinimizerRspackPlugin({
        extractComments: false,
        minimizerOptions: {
          ecma: 2022,
          compress: { ecma: 2022, passes: 3, keep_fargs: false, unsafe_arrows: true, unsafe_methods: true },
          format: { ecma: 2022, comments: false }
        }
      })
    ]
  }
};
